package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvQpState;

/**
 * The state of a queue pair: {@code enum ibv_qp_state} (IBA volume 1, section 10.3.1).
 */
public enum QueuePairState {
    /** {@code IBV_QPS_RESET}: just created; it takes no work. */
    RESET(IbvQpState.IBV_QPS_RESET),
    /** {@code IBV_QPS_INIT}: it takes receives, and does not work on them yet. */
    INIT(IbvQpState.IBV_QPS_INIT),
    /** {@code IBV_QPS_RTR}: ready to receive. */
    RTR(IbvQpState.IBV_QPS_RTR),
    /** {@code IBV_QPS_RTS}: ready to send and to receive. */
    RTS(IbvQpState.IBV_QPS_RTS),
    /** {@code IBV_QPS_SQD}: the send queue drains: what had begun is finished, what had not waits. */
    SQD(IbvQpState.IBV_QPS_SQD),
    /** {@code IBV_QPS_SQE}: the send queue stopped at an error; receiving goes on (UC and UD only). */
    SQE(IbvQpState.IBV_QPS_SQE),
    /** {@code IBV_QPS_ERR}: stopped at an error: every request is completed with a flush error. */
    ERR(IbvQpState.IBV_QPS_ERR),
    /** No C constant: a value that this release of kverbs has no name for. */
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
