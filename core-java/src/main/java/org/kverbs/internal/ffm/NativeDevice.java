package org.kverbs.internal.ffm;

import java.nio.file.Path;
import java.util.Map;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.SysfsCounters;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvContext;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.VerbsDevice;
import org.kverbs.spi.VerbsOpenResult;

/** A device in the list of libibverbs. */
record NativeDevice(Libibverbs verbs, long address, String name, long guid, int nodeType, int transportType)
        implements VerbsDevice {

    @Override
    public VerbsOpenResult open() {
        long context = verbs.openDevice(address);
        return context < 0 ? VerbsOpenResult.refused((int) -context) : prepared(context);
    }

    @Override
    public VerbsOpenResult importContext(int descriptor) {
        long context = verbs.importDevice(descriptor);
        if (context < 0) {
            return VerbsOpenResult.refused((int) -context);
        }
        if (Memory.getLong(context + IbvContext.DEVICE) != address) {
            verbs.closeDevice(context);
            return VerbsOpenResult.refused(
                    -Refusal.because(Errno.EINVAL, "The descriptor belongs to another device than " + name + "."));
        }
        return prepared(context);
    }

    /** Wraps a {@code struct ibv_context} of this device; closes it if that fails. */
    VerbsOpenResult prepared(long context) {
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
