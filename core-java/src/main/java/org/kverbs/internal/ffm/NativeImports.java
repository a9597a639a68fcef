package org.kverbs.internal.ffm;

import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvContext;
import org.kverbs.internal.ffm.NativeLibrary.Function;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.ImportVerbs;

/** The calls of a device of libibverbs that share its objects with other contexts. */
final class NativeImports implements ImportVerbs {

    /** A handle that the kernel gives to no object. */
    private static final int NO_OBJECT = -1;

    private final long context;
    private final Function importPd;
    private final Function unimportPd;
    private final Function importMr;
    private final Function unimportMr;
    private final Function importDm;
    private final Function unimportDm;

    NativeImports(Libibverbs verbs, long context) {
        this.context = context;
        this.importPd = verbs.function("ibv_import_pd", 31);
        this.unimportPd = verbs.function("ibv_unimport_pd", 31);
        this.importMr = verbs.function("ibv_import_mr", 31);
        this.unimportMr = verbs.function("ibv_unimport_mr", 31);
        this.importDm = verbs.function("ibv_import_dm", 35);
        this.unimportDm = verbs.function("ibv_unimport_dm", 35);
    }

    // man 3 ibv_import_mr, for all three kinds: pointer or NULL with errno; ENOSYS if this release has no such call
    private static long imported(Function call, long from, int handle) {
        return call.isPresent() ? Downcalls.pointer(call.address(), from, handle) : -Errno.ENOSYS;
    }

    /**
     * Returns whether the driver imports objects. libibverbs keeps the driver's functions to itself, so this tries to
     * import a domain that does not exist: only a driver without the call answers that it has none.
     */
    boolean areThere() {
        long pd = importPd(NO_OBJECT);
        if (pd > 0) {
            unimportPd(pd);
        }
        return pd != -Errno.EOPNOTSUPP && pd != -Errno.ENOSYS;
    }

    @Override
    public int commandDescriptor() {
        return Memory.getInt(context + IbvContext.CMD_FD);
    }

    @Override
    public int duplicateDescriptor() {
        return areThere() ? Libc.duplicate(commandDescriptor()) : -Errno.EOPNOTSUPP; // no import would close it
    }

    @Override
    public long importPd(int handle) {
        return imported(importPd, context, handle);
    }

    @Override
    public void unimportPd(long pd) {
        Downcalls.call(unimportPd.address(), pd);
    }

    @Override
    public long importMemory(long pd, int handle) {
        return imported(importMr, pd, handle);
    }

    @Override
    public void unimportMemory(long mr) {
        Downcalls.call(unimportMr.address(), mr);
    }

    @Override
    public long importDeviceMemory(int handle) {
        return imported(importDm, context, handle);
    }

    @Override
    public void unimportDeviceMemory(long dm) {
        Downcalls.call(unimportDm.address(), dm);
    }
}
