package org.kverbs.internal.ffm;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.VerbsContext;
import org.kverbs.spi.EceVerbs;
import org.kverbs.spi.PacingVerbs;

/** The vendor's options and the sending rate of queue pairs of libibverbs. */
record NativeTuning(Libibverbs verbs, ContextTables tables) implements EceVerbs, PacingVerbs {

    @Override
    public int queryEce(long qp, MemorySegment ece) {
        return verbs.hasEce() ? verbs.queryEce(qp, ece.address()) : -Errno.ENOSYS;
    }

    @Override
    public int setEce(long qp, MemorySegment ece) {
        return verbs.hasEce() ? verbs.setEce(qp, ece.address()) : -Errno.ENOSYS;
    }

    // man 3 ibv_modify_qp_rate_limit: 0 or errno
    @Override
    public int modifyRateLimit(long qp, MemorySegment attributes) {
        return tables.call(VerbsContext.MODIFY_QP_RATE_LIMIT, qp, attributes.address());
    }
}
