package org.kverbs.internal.ffm;

import java.nio.file.Path;
import java.util.Map;
import org.kverbs.internal.SysfsCounters;
import org.kverbs.spi.VerbsDevice;
import org.kverbs.spi.VerbsOpenResult;

/** A device in the list of libibverbs. */
record NativeDevice(Libibverbs verbs, long address, String name, long guid, int nodeType, int transportType)
        implements VerbsDevice {

    @Override
    public VerbsOpenResult open() {
        long context = verbs.openDevice(address);
        if (context < 0) {
            return VerbsOpenResult.refused((int) -context);
        }
        var opened = new NativeContext(verbs, context);
        int refused = opened.prepare();
        if (refused < 0) {
            verbs.closeDevice(context);
            return VerbsOpenResult.refused(-refused);
        }
        return VerbsOpenResult.of(opened);
    }

    @Override
    public int index() {
        return verbs.hasDeviceIndex() ? verbs.getDeviceIndex(address) : -1;
    }

    @Override
    public Map<String, Long> counters(int port) {
        return SysfsCounters.read(Path.of("/sys/class/infiniband", name, "ports", Integer.toString(port)));
    }
}
