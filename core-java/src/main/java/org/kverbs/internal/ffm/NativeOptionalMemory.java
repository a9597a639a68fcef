package org.kverbs.internal.ffm;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvDm;
import org.kverbs.internal.abi.IbvSge;
import org.kverbs.internal.abi.VerbsContext;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.OptionalMemoryVerbs;

/** The calls for memory that a driver can lack, on an open device of libibverbs. */
final class NativeOptionalMemory implements OptionalMemoryVerbs {

    private final Libibverbs verbs;
    private final long context;
    private final ContextTables tables;
    /** The last functions that turned out to be the driver's, so that not every copy asks the dynamic linker. */
    private volatile long copyTo;

    private volatile long copyFrom;

    NativeOptionalMemory(Libibverbs verbs, long context, ContextTables tables) {
        this.verbs = verbs;
        this.context = context;
        this.tables = tables;
    }

    /**
     * Returns whether the driver registers dma-bufs. libibverbs keeps the driver's function to itself, so this tries to
     * register a file descriptor that is none: only a driver without the call answers that it has none.
     */
    boolean hasDmabuf() {
        long pd = verbs.allocPd(context);
        if (pd < 0) {
            return false;
        }
        try {
            long mr = registerDmabuf(pd, 0, 1, 0, -1, 0);
            if (mr > 0) {
                verbs.deregMr(mr);
            }
            return mr != -Errno.EOPNOTSUPP && mr != -Errno.ENOSYS && mr != -Errno.EPROTONOSUPPORT;
        } finally {
            verbs.deallocPd(pd);
        }
    }

    // man 3 ibv_alloc_null_mr: pointer or NULL with errno
    @Override
    public long allocNullRegion(long pd) {
        return tables.make(VerbsContext.ALLOC_NULL_MR, pd);
    }

    // man 3 ibv_alloc_dm: pointer or NULL with errno
    @Override
    public long allocDeviceMemory(MemorySegment attributes) {
        return tables.make(VerbsContext.ALLOC_DM, context, attributes.address());
    }

    // man 3 ibv_alloc_dm: 0 or errno
    @Override
    public int freeDeviceMemory(long dm) {
        return tables.call(VerbsContext.FREE_DM, dm);
    }

    // man 3 ibv_alloc_dm: 0 or errno
    @Override
    public int copyToDeviceMemory(long dm, long offset, MemorySegment source) {
        MemorySegment function = MemorySegment.ofAddress(Memory.getLong(dm + IbvDm.MEMCPY_TO_DM));
        boolean isKnown = function.address() != 0 && function.address() == copyTo;
        if (!isKnown && isOfDriver(function)) {
            isKnown = true;
            copyTo = function.address();
        }
        return !isKnown
                ? -Errno.EOPNOTSUPP
                : ContextTables.negated(Downcalls.call(function, dm, offset, source.address(), source.byteSize()));
    }

    // man 3 ibv_alloc_dm: 0 or errno
    @Override
    public int copyFromDeviceMemory(MemorySegment target, long dm, long offset) {
        MemorySegment function = MemorySegment.ofAddress(Memory.getLong(dm + IbvDm.MEMCPY_FROM_DM));
        boolean isKnown = function.address() != 0 && function.address() == copyFrom;
        if (!isKnown && isOfDriver(function)) {
            isKnown = true;
            copyFrom = function.address();
        }
        return !isKnown
                ? -Errno.EOPNOTSUPP
                : ContextTables.negated(Downcalls.call(function, target.address(), dm, offset, target.byteSize()));
    }

    /**
     * Returns whether a function of a device memory is one of the driver that allocated it. The driver mana leaves
     * these pointers uninitialized (rdma-core 62 to 64): a call crashes the process.
     */
    private boolean isOfDriver(MemorySegment function) {
        return function.address() != 0 && tables.isBesides(VerbsContext.ALLOC_DM, function);
    }

    // man 3 ibv_alloc_dm: pointer or NULL with errno
    @Override
    public long registerDeviceMemory(long pd, long dm, long offset, long length, int access) {
        return tables.make(VerbsContext.REG_DM_MR, pd, dm, offset, length, access);
    }

    // man 3 ibv_advise_mr: 0 or errno
    @Override
    public int adviseMemory(long pd, int advice, int flags, MemorySegment entries) {
        long count = entries.byteSize() / IbvSge.SIZE;
        return tables.call(VerbsContext.ADVISE_MR, pd, advice, flags, entries.address(), count);
    }

    @Override
    public long registerDmabuf(long pd, long offset, long length, long iova, int fd, int access) {
        return verbs.regDmabufMr(pd, offset, length, iova, fd, access);
    }
}
