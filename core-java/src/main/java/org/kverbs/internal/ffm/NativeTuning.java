package org.kverbs.internal.ffm;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.VerbsContext;
import org.kverbs.internal.ffm.NativeLibrary.Function;
import org.kverbs.spi.EceVerbs;
import org.kverbs.spi.PacingVerbs;

/** The vendor's options and the sending rate of queue pairs of libibverbs. */
final class NativeTuning implements EceVerbs, PacingVerbs {

    private final ContextTables tables;
    private final Function queryEce;
    private final Function setEce;

    NativeTuning(Libibverbs verbs, ContextTables tables) {
        this.tables = tables;
        this.queryEce = verbs.function("ibv_query_ece", 31);
        this.setEce = verbs.function("ibv_set_ece", 31);
    }

    // man 3 ibv_query_ece, ibv_set_ece: 0 or errno; ENOSYS if this release has no such call
    private static int call(Function call, long qp, MemorySegment ece) {
        return call.isPresent()
                ? Downcalls.status(Downcalls.withErrno(call.address(), qp, ece.address()))
                : -Errno.ENOSYS;
    }

    @Override
    public int queryEce(long qp, MemorySegment ece) {
        return call(queryEce, qp, ece);
    }

    @Override
    public int setEce(long qp, MemorySegment ece) {
        return call(setEce, qp, ece);
    }

    // man 3 ibv_modify_qp_rate_limit: 0 or errno
    @Override
    public int modifyRateLimit(long qp, MemorySegment attributes) {
        return tables.call(VerbsContext.MODIFY_QP_RATE_LIMIT, qp, attributes.address());
    }
}
