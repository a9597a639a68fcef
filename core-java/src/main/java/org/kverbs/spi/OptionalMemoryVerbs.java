package org.kverbs.spi;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.Errno;

/**
 * The calls of a device for memory that not every device has: the null region, device memory, advice on regions that
 * are paged on demand, and dma-bufs.
 *
 * <p>As in {@link VerbsContext}, a negative result is {@code -errno}. Each method of this interface refuses with {@code
 * EOPNOTSUPP}.
 */
public interface OptionalMemoryVerbs {

    /** A device that has none of these calls. */
    OptionalMemoryVerbs NONE = new OptionalMemoryVerbs() {};

    /** Makes a region without memory, {@code struct ibv_mr} ({@code ibv_alloc_null_mr}). */
    default long allocNullRegion(long pd) {
        return -Errno.EOPNOTSUPP;
    }

    /** Allocates device memory, {@code struct ibv_dm}, by {@code struct ibv_alloc_dm_attr} ({@code ibv_alloc_dm}). */
    default long allocDeviceMemory(MemorySegment attributes) {
        return -Errno.EOPNOTSUPP;
    }

    /** Frees device memory ({@code ibv_free_dm}). */
    default int freeDeviceMemory(long dm) {
        return -Errno.EOPNOTSUPP;
    }

    /** Copies all bytes of a segment into device memory ({@code ibv_memcpy_to_dm}). */
    default int copyToDeviceMemory(long dm, long offset, MemorySegment source) {
        return -Errno.EOPNOTSUPP;
    }

    /** Fills a segment with bytes of device memory ({@code ibv_memcpy_from_dm}). */
    default int copyFromDeviceMemory(MemorySegment target, long dm, long offset) {
        return -Errno.EOPNOTSUPP;
    }

    /** Registers a part of device memory as a {@code struct ibv_mr} ({@code ibv_reg_dm_mr}). */
    default long registerDeviceMemory(long pd, long dm, long offset, long length, int access) {
        return -Errno.EOPNOTSUPP;
    }

    /**
     * Gives advice on ranges of regions ({@code ibv_advise_mr}).
     *
     * @param advice {@code enum ibv_advise_mr_advice}
     * @param flags {@code IBV_ADVISE_MR_FLAG_FLUSH} or 0
     * @param entries an array of {@code struct ibv_sge}
     */
    default int adviseMemory(long pd, int advice, int flags, MemorySegment entries) {
        return -Errno.EOPNOTSUPP;
    }

    /** Registers a part of a dma-buf as a {@code struct ibv_mr} ({@code ibv_reg_dmabuf_mr}). */
    default long registerDmabuf(long pd, long offset, long length, long iova, int fd, int access) {
        return -Errno.EOPNOTSUPP;
    }

    /**
     * Tells the device that requests are going to use memory through an implicit region. A device that sees the whole
     * address space needs no such call. A device in Java uses no other memory, and notices by the scope of the segment
     * that the program freed the memory.
     */
    default void willUse(long implicitRegion, MemorySegment memory) {}
}
