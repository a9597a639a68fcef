package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvQpState;

/**
 * The state of a queue pair: {@code enum ibv_qp_state} (IBA volume 1, section 10.3.1).
 */
public enum QueuePairState {
    /** {@code IBV_QPS_RESET}: the queue pair is new and takes no requests. */
    RESET(IbvQpState.IBV_QPS_RESET),
    /** {@code IBV_QPS_INIT}: the queue pair takes receives but does not process them yet. */
    INIT(IbvQpState.IBV_QPS_INIT),
    /** {@code IBV_QPS_RTR}: the queue pair is ready to receive. */
    RTR(IbvQpState.IBV_QPS_RTR),
    /** {@code IBV_QPS_RTS}: the queue pair is ready to send and to receive. */
    RTS(IbvQpState.IBV_QPS_RTS),
    /** {@code IBV_QPS_SQD}: the send queue drains. Requests that have begun finish, and later requests wait. */
    SQD(IbvQpState.IBV_QPS_SQD),
    /** {@code IBV_QPS_SQE}: the send queue stopped at an error, and receiving continues (UC and UD only). */
    SQE(IbvQpState.IBV_QPS_SQE),
    /** {@code IBV_QPS_ERR}: the queue pair stopped at an error. Every request completes with a flush error. */
    ERR(IbvQpState.IBV_QPS_ERR),
    /** A value that this release of kverbs has no name for. C has no such constant. */
    UNKNOWN(-1);

    private static final QueuePairState[] ALL = values();

    private final int code;

    QueuePairState(int code) {
        this.code = code;
    }

    /** Returns the number that {@code enum ibv_qp_state} gives this constant; -1 for {@link #UNKNOWN}. */
    public int code() {
        return code;
    }

    /** Returns the constant whose number is {@code code}, or {@link #UNKNOWN} if there is none; never throws. */
    public static QueuePairState of(int code) {
        for (QueuePairState each : ALL) {
            if (each.code == code) {
                return each;
            }
        }
        return UNKNOWN;
    }
}
