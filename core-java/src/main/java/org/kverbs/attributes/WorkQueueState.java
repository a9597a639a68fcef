package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvWqState;

/** The state of a work queue: {@code enum ibv_wq_state}. */
public enum WorkQueueState {
    /** {@code IBV_WQS_RESET}: the work queue is new, or was emptied, and receives nothing. */
    RESET(IbvWqState.IBV_WQS_RESET),
    /** {@code IBV_WQS_RDY}: the work queue takes receives, and messages. */
    RDY(IbvWqState.IBV_WQS_RDY),
    /** {@code IBV_WQS_ERR}: the work queue stopped at an error. Every receive completes with a flush error. */
    ERR(IbvWqState.IBV_WQS_ERR),
    /** {@code IBV_WQS_UNKNOWN}, or a value that this release of kverbs has no name for. */
    UNKNOWN(IbvWqState.IBV_WQS_UNKNOWN);

    private static final WorkQueueState[] ALL = values();

    private final int code;

    WorkQueueState(int code) {
        this.code = code;
    }

    /** Returns the number that {@code enum ibv_wq_state} gives this constant. */
    public int code() {
        return code;
    }

    /** Returns the constant whose number is {@code code}, or {@link #UNKNOWN} if there is none; never throws. */
    public static WorkQueueState of(int code) {
        for (WorkQueueState each : ALL) {
            if (each.code == code) {
                return each;
            }
        }
        return UNKNOWN;
    }
}
