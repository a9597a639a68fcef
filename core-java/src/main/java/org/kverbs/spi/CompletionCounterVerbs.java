package org.kverbs.spi;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.Errno;

/**
 * The calls of a device for completion counters, which not every device has. As in {@link VerbsContext}, a negative
 * result is {@code -errno}.
 */
public interface CompletionCounterVerbs {

    /** A device without completion counters. */
    CompletionCounterVerbs NONE = new CompletionCounterVerbs() {};

    /** Which of the two values of a counter a call is about. */
    enum Value {
        /** The count of successes. */
        COMPLETIONS,
        /** The count of failures. */
        ERRORS
    }

    /** Fills {@code struct ibv_comp_cntr_caps} ({@code ibv_query_comp_cntr_caps}). */
    default int queryCapabilities(MemorySegment capabilities) {
        return -Errno.EOPNOTSUPP;
    }

    /**
     * Makes a counter, {@code struct ibv_comp_cntr}, by {@code struct ibv_comp_cntr_init_attr} ({@code
     * ibv_create_comp_cntr}).
     */
    default long create(MemorySegment initAttributes) {
        return -Errno.EOPNOTSUPP;
    }

    /** Destroys a counter ({@code ibv_destroy_comp_cntr}). */
    default int destroy(long counter) {
        return -Errno.EOPNOTSUPP;
    }

    /** Sets a value ({@code ibv_set_comp_cntr}, {@code ibv_set_err_comp_cntr}). */
    default int set(long counter, Value which, long value) {
        return -Errno.EOPNOTSUPP;
    }

    /** Adds to a value ({@code ibv_inc_comp_cntr}, {@code ibv_inc_err_comp_cntr}). */
    default int increment(long counter, Value which, long amount) {
        return -Errno.EOPNOTSUPP;
    }

    /** Reads a value, 64 bits, into {@code value} ({@code ibv_read_comp_cntr}, {@code ibv_read_err_comp_cntr}). */
    default int read(long counter, Value which, MemorySegment value) {
        return -Errno.EOPNOTSUPP;
    }

    /**
     * Attaches a counter to a queue pair by {@code struct ibv_qp_attach_comp_cntr_attr} ({@code
     * ibv_qp_attach_comp_cntr}).
     */
    default int attach(long qp, long counter, MemorySegment attributes) {
        return -Errno.EOPNOTSUPP;
    }
}
