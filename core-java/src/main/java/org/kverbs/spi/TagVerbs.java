package org.kverbs.spi;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.Errno;

/**
 * The calls of a device that matches the tags of messages, which not every device does. {@link
 * XrcVerbs#createSharedReceiveQueue} makes the queue. As in {@link VerbsContext}, a negative result is {@code -errno}.
 */
public interface TagVerbs {

    /** A device without tag matching. */
    TagVerbs NONE = new TagVerbs() {};

    /**
     * Changes the list of tags of a shared receive queue by a list of {@code struct ibv_ops_wr} ({@code
     * ibv_post_srq_ops}).
     *
     * @param refused room for the address of the refused operation
     */
    default int post(long srq, long operations, MemorySegment refused) {
        return -Errno.EOPNOTSUPP;
    }
}
