package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.IbvQpInitAttr;

/**
 * What a queue pair is made from ({@code struct ibv_qp_init_attr}).
 *
 * @param type its transport
 * @param sendCq where send requests complete
 * @param recvCq where receive requests complete
 * @param srq the shared receive queue it takes receives from, or null for a receive queue of its own
 * @param capabilities sizes of its queues; the device may give more
 * @param signalAll whether every send request makes a completion, as if it were signaled ({@code sq_sig_all})
 */
public record QueuePairInitAttributes(
        QueuePairType type,
        CompletionQueue sendCq,
        CompletionQueue recvCq,
        @Nullable SharedReceiveQueue srq,
        QueuePairCapabilities capabilities,
        boolean signalAll) {

    /** 128 requests in each queue, one entry each, no inline data: small, so that most devices can give them. */
    public static final QueuePairCapabilities DEFAULT_CAPABILITIES = new QueuePairCapabilities(128, 128, 1, 1, 0);

    /** A queue pair of default sizes with one completion queue for both directions. */
    public static QueuePairInitAttributes of(QueuePairType type, CompletionQueue cq) {
        return new QueuePairInitAttributes(type, cq, cq, null, DEFAULT_CAPABILITIES, false);
    }

    /** The same with other sizes. */
    public QueuePairInitAttributes with(QueuePairCapabilities newCapabilities) {
        return new QueuePairInitAttributes(type, sendCq, recvCq, srq, newCapabilities, signalAll);
    }

    /** The same with receives from a shared queue. */
    public QueuePairInitAttributes with(SharedReceiveQueue newSrq) {
        return new QueuePairInitAttributes(type, sendCq, recvCq, newSrq, capabilities, signalAll);
    }

    void writeTo(MemorySegment init) {
        init.set(JAVA_LONG, IbvQpInitAttr.SEND_CQ, sendCq.handle());
        init.set(JAVA_LONG, IbvQpInitAttr.RECV_CQ, recvCq.handle());
        init.set(JAVA_LONG, IbvQpInitAttr.SRQ, srq == null ? 0 : srq.handle());
        capabilities.writeTo(init.asSlice(IbvQpInitAttr.CAP));
        init.set(JAVA_INT, IbvQpInitAttr.QP_TYPE, type.code());
        init.set(JAVA_INT, IbvQpInitAttr.SQ_SIG_ALL, signalAll ? 1 : 0);
    }

    /** Type and sizes. */
    @Override
    public String toString() {
        return type + ", " + capabilities;
    }
}
