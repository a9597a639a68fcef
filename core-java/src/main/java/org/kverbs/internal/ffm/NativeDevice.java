package org.kverbs.internal.ffm;

import java.nio.file.Files;
import java.nio.file.Path;
import org.kverbs.spi.VerbsDevice;
import org.kverbs.spi.VerbsOpenResult;

/** A device in libibverbs' list. */
record NativeDevice(Libibverbs verbs, long address, String name, long guid, int nodeType, int transportType)
        implements VerbsDevice {

    @Override
    public VerbsOpenResult open() {
        long context = verbs.openDevice(address);
        if (context < 0) {
            return VerbsOpenResult.refused((int) -context);
        }
        var opened = new NativeContext(verbs, context, postsWithoutSystemCall());
        int refused = opened.prepare();
        if (refused < 0) {
            verbs.closeDevice(context);
            return VerbsOpenResult.refused(-refused);
        }
        return VerbsOpenResult.of(opened);
    }

    /**
     * Whether posting is a store to mapped memory and not a system call: so for a card on the PCI bus, not so for
     * Soft-RoCE and soft-iWARP, which have no PCI device behind them. The property overrides it, for benchmarks and for
     * a card of which it is wrong.
     */
    private boolean postsWithoutSystemCall() {
        String forced = System.getProperty("kverbs.shortPost");
        return forced != null
                ? Boolean.parseBoolean(forced)
                : Files.exists(Path.of("/sys/class/infiniband", name, "device", "vendor"));
    }
}
