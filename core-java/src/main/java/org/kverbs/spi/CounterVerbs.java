package org.kverbs.spi;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.Errno;

/** Counters of flow rules. A provider that implements no method has none. */
public interface CounterVerbs {

    /** The verbs of a device without counters. */
    CounterVerbs NONE = new CounterVerbs() {};

    /**
     * Makes counters, {@code struct ibv_counters}, by {@code struct ibv_counters_init_attr} ({@code
     * ibv_create_counters}).
     */
    default long create(MemorySegment initAttributes) {
        return -Errno.EOPNOTSUPP;
    }

    /**
     * Attaches a counter by {@code struct ibv_counter_attach_attr} to a flow rule, or, with 0 for the flow, to the
     * rules that will be made with the counters ({@code ibv_attach_counters_point_flow}).
     */
    default int attachToFlow(long counters, MemorySegment attributes, long flow) {
        return -Errno.EOPNOTSUPP;
    }

    /**
     * Writes {@code count} values of 64 bits; {@code flags} is of {@code enum ibv_read_counters_flags} ({@code
     * ibv_read_counters}).
     */
    default int read(long counters, MemorySegment values, int count, int flags) {
        return -Errno.EOPNOTSUPP;
    }

    /** Destroys counters ({@code ibv_destroy_counters}). */
    default int destroy(long counters) {
        return -Errno.EOPNOTSUPP;
    }
}
