package org.kverbs.spi;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.Errno;

/** Reads and sets the vendor's options of a queue pair. Conventions as for {@link VerbsContext}. */
public interface EceVerbs {

    /** The calls of a device without such options. */
    EceVerbs NONE = new EceVerbs() {};

    /** Fills {@code struct ibv_ece} with the options that a queue pair has or supports ({@code ibv_query_ece}). */
    default int queryEce(long qp, MemorySegment ece) {
        return -Errno.EOPNOTSUPP;
    }

    /**
     * Asks for the options of {@code struct ibv_ece} and writes those that the device accepted into it ({@code
     * ibv_set_ece}).
     */
    default int setEce(long qp, MemorySegment ece) {
        return -Errno.EOPNOTSUPP;
    }
}
