package org.kverbs.embedded.internal.verbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.Operation;
import org.kverbs.embedded.internal.objects.Limits;
import org.kverbs.embedded.internal.transport.Qp;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvQpRateLimitAttr;
import org.kverbs.internal.abi.IbvQpState;
import org.kverbs.spi.PacingVerbs;

/** Limits the sending rates of an embedded device's queue pairs; takes the engine's lock for each call. */
record EmbeddedPacing(DeviceCalls calls, QueuePairVerbs queuePairs) implements PacingVerbs {

    @Override
    public int modifyRateLimit(long qp, MemorySegment attributes) {
        return calls.call(Operation.MODIFY_RATE_LIMIT, () -> modify(queuePairs.queuePair(qp), attributes));
    }

    /**
     * Sets the limit of a queue pair that sends. The typical size of the packets is of no use here: the real sizes are
     * counted.
     */
    private static int modify(@Nullable Qp qp, MemorySegment attributes) {
        long kbps = Integer.toUnsignedLong(attributes.get(JAVA_INT, IbvQpRateLimitAttr.RATE_LIMIT));
        long burst = Integer.toUnsignedLong(attributes.get(JAVA_INT, IbvQpRateLimitAttr.MAX_BURST_SZ));
        if (qp == null || qp.domain != null || qp.state != IbvQpState.IBV_QPS_RTS || kbps > Limits.MOST_KBPS
                || attributes.get(JAVA_INT, IbvQpRateLimitAttr.COMP_MASK) != 0) {
            return -Errno.EINVAL;
        }
        qp.limitRate(kbps, burst);
        return 0;
    }
}
