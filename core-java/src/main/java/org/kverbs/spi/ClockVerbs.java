package org.kverbs.spi;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.Errno;

/** Reads the clock behind the timestamps of completions. Conventions as for {@link VerbsContext}. */
public interface ClockVerbs {

    /** The calls of a device without such a clock. */
    ClockVerbs NONE = new ClockVerbs() {};

    /**
     * Fills {@code struct ibv_values_ex}, whose {@code comp_mask} asks for values before the call and names those given
     * after it ({@code ibv_query_rt_values_ex}).
     */
    default int queryRealTimeValues(MemorySegment values) {
        return -Errno.EOPNOTSUPP;
    }
}
