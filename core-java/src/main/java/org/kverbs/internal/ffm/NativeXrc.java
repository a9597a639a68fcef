package org.kverbs.internal.ffm;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.IbvXrcdInitAttr;
import org.kverbs.internal.abi.IbvXrcdInitAttrMask;
import org.kverbs.internal.abi.OpenFlags;
import org.kverbs.internal.abi.VerbsContext;
import org.kverbs.spi.XrcVerbs;

/** The XRC calls of a device of libibverbs, all of which are pointers in the extension of its context. */
final class NativeXrc implements XrcVerbs {

    /** The descriptor that stands for no file. */
    private static final int NO_FILE = -1;

    private final ContextTables tables;
    private final long context;

    NativeXrc(ContextTables tables, long context) {
        this.tables = tables;
        this.context = context;
    }

    // man 3 ibv_open_xrcd: pointer or NULL with errno; the kernel keeps the inode, so the descriptor is closed at once
    @Override
    public long openDomain(@Nullable Path file, int flags) {
        if (file == null) {
            return openDomain(NO_FILE, flags);
        }
        String name = file.toString();
        int fd = (flags & OpenFlags.O_CREAT) == 0 ? Libc.openToRead(name) : Libc.openOrCreate(name);
        if (fd < 0) {
            return fd;
        }
        try {
            return openDomain(fd, flags);
        } finally {
            Libc.close(fd);
        }
    }

    private long openDomain(int fd, int flags) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment init = arena.allocate(IbvXrcdInitAttr.SIZE, Integer.BYTES);
            init.set(
                    JAVA_INT,
                    IbvXrcdInitAttr.COMP_MASK,
                    IbvXrcdInitAttrMask.IBV_XRCD_INIT_ATTR_FD | IbvXrcdInitAttrMask.IBV_XRCD_INIT_ATTR_OFLAGS);
            init.set(JAVA_INT, IbvXrcdInitAttr.FD, fd);
            init.set(JAVA_INT, IbvXrcdInitAttr.OFLAGS, flags);
            return tables.make(VerbsContext.OPEN_XRCD, context, init.address());
        }
    }

    // man 3 ibv_close_xrcd: 0 or errno
    @Override
    public int closeDomain(long domain) {
        return tables.call(VerbsContext.CLOSE_XRCD, domain);
    }

    // man 3 ibv_create_srq_ex: pointer or NULL with errno
    @Override
    public long createSharedReceiveQueue(MemorySegment initAttributes) {
        return tables.make(VerbsContext.CREATE_SRQ_EX, context, initAttributes.address());
    }

    // man 3 ibv_get_srq_num: 0 or errno
    @Override
    public int sharedReceiveQueueNumber(long srq) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment number = arena.allocate(JAVA_INT);
            int result = tables.call(VerbsContext.GET_SRQ_NUM, srq, number.address());
            return result < 0 ? result : number.get(JAVA_INT, 0);
        }
    }

    // man 3 ibv_open_qp: pointer or NULL with errno
    @Override
    public long openQueuePair(MemorySegment attributes) {
        return tables.make(VerbsContext.OPEN_QP, context, attributes.address());
    }
}
