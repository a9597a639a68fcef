package org.kverbs.internal.ffm;

import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvContext;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.ImportVerbs;

/** The calls of a device of libibverbs that share its objects with other contexts. */
record NativeImports(Libibverbs verbs, long context) implements ImportVerbs {

    /** A handle that the kernel gives to no object. */
    private static final int NO_OBJECT = -1;

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
        return verbs.importPd(context, handle);
    }

    @Override
    public void unimportPd(long pd) {
        verbs.unimportPd(pd);
    }

    @Override
    public long importMemory(long pd, int handle) {
        return verbs.importMr(pd, handle);
    }

    @Override
    public void unimportMemory(long mr) {
        verbs.unimportMr(mr);
    }

    @Override
    public long importDeviceMemory(int handle) {
        return verbs.importDm(context, handle);
    }

    @Override
    public void unimportDeviceMemory(long dm) {
        verbs.unimportDm(dm);
    }
}
