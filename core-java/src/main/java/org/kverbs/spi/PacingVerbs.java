package org.kverbs.spi;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.Errno;

/** Limits the rate at which a queue pair sends. Conventions as for {@link VerbsContext}. */
public interface PacingVerbs {

    /** The calls of a device without such limits. */
    PacingVerbs NONE = new PacingVerbs() {};

    /** Sets the limit by {@code struct ibv_qp_rate_limit_attr} ({@code ibv_modify_qp_rate_limit}). */
    default int modifyRateLimit(long qp, MemorySegment attributes) {
        return -Errno.EOPNOTSUPP;
    }
}
