package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvEventType;

/** The type of an asynchronous event of a device: {@code enum ibv_event_type} (ibv_get_async_event(3)). */
public enum AsyncEventType {
    /** {@code IBV_EVENT_CQ_ERR}: a completion queue overran or broke; its completions are lost. */
    CQ_ERR(IbvEventType.IBV_EVENT_CQ_ERR),
    /** {@code IBV_EVENT_QP_FATAL}: a queue pair broke; it is in the error state. */
    QP_FATAL(IbvEventType.IBV_EVENT_QP_FATAL),
    /** {@code IBV_EVENT_QP_REQ_ERR}: a queue pair received an invalid request; it is in the error state. */
    QP_REQ_ERR(IbvEventType.IBV_EVENT_QP_REQ_ERR),
    /**
     * {@code IBV_EVENT_QP_ACCESS_ERR}: a queue pair received a request that memory protection refused; it is in the
     * error state.
     */
    QP_ACCESS_ERR(IbvEventType.IBV_EVENT_QP_ACCESS_ERR),
    /** {@code IBV_EVENT_COMM_EST}: the first message arrived on a queue pair that is still in RTR. */
    COMM_EST(IbvEventType.IBV_EVENT_COMM_EST),
    /** {@code IBV_EVENT_SQ_DRAINED}: the send queue of a queue pair in SQD has finished what it had begun. */
    SQ_DRAINED(IbvEventType.IBV_EVENT_SQ_DRAINED),
    /** {@code IBV_EVENT_PATH_MIG}: a queue pair has moved to its alternate path. */
    PATH_MIG(IbvEventType.IBV_EVENT_PATH_MIG),
    /** {@code IBV_EVENT_PATH_MIG_ERR}: a queue pair could not move to its alternate path. */
    PATH_MIG_ERR(IbvEventType.IBV_EVENT_PATH_MIG_ERR),
    /** {@code IBV_EVENT_DEVICE_FATAL}: the device broke; close it and everything made from it. */
    DEVICE_FATAL(IbvEventType.IBV_EVENT_DEVICE_FATAL),
    /** {@code IBV_EVENT_PORT_ACTIVE}: a port became active. */
    PORT_ACTIVE(IbvEventType.IBV_EVENT_PORT_ACTIVE),
    /** {@code IBV_EVENT_PORT_ERR}: a port is no longer active. */
    PORT_ERR(IbvEventType.IBV_EVENT_PORT_ERR),
    /** {@code IBV_EVENT_LID_CHANGE}: a port's LID changed. */
    LID_CHANGE(IbvEventType.IBV_EVENT_LID_CHANGE),
    /** {@code IBV_EVENT_PKEY_CHANGE}: a port's P_Key table changed. */
    PKEY_CHANGE(IbvEventType.IBV_EVENT_PKEY_CHANGE),
    /** {@code IBV_EVENT_SM_CHANGE}: the subnet manager of a port changed. */
    SM_CHANGE(IbvEventType.IBV_EVENT_SM_CHANGE),
    /** {@code IBV_EVENT_SRQ_ERR}: a shared receive queue broke; nothing more can be received from it. */
    SRQ_ERR(IbvEventType.IBV_EVENT_SRQ_ERR),
    /**
     * {@code IBV_EVENT_SRQ_LIMIT_REACHED}: a shared receive queue holds fewer receives than its limit. The limit is
     * disarmed: set it again for another event.
     */
    SRQ_LIMIT_REACHED(IbvEventType.IBV_EVENT_SRQ_LIMIT_REACHED),
    /**
     * {@code IBV_EVENT_QP_LAST_WQE_REACHED}: a broken queue pair will take no more receives from its shared receive
     * queue.
     */
    QP_LAST_WQE_REACHED(IbvEventType.IBV_EVENT_QP_LAST_WQE_REACHED),
    /**
     * {@code IBV_EVENT_CLIENT_REREGISTER}: the subnet manager asks for subscriptions and multicast joins to be made
     * again.
     */
    CLIENT_REREGISTER(IbvEventType.IBV_EVENT_CLIENT_REREGISTER),
    /** {@code IBV_EVENT_GID_CHANGE}: a port's GID table changed. */
    GID_CHANGE(IbvEventType.IBV_EVENT_GID_CHANGE),
    /** {@code IBV_EVENT_WQ_FATAL}: a work queue broke; it is in the error state. */
    WQ_FATAL(IbvEventType.IBV_EVENT_WQ_FATAL),
    /**
     * {@code IBV_EVENT_DEVICE_SPEED_CHANGE}: the speed of a device changed without its link going down (rdma-core 62).
     */
    DEVICE_SPEED_CHANGE(20),
    /** A value that this release of kverbs has no name for. C has no such constant. */
    UNKNOWN(-1);

    private static final AsyncEventType[] ALL = values();

    private final int code;

    AsyncEventType(int code) {
        this.code = code;
    }

    /** Returns the number that {@code enum ibv_event_type} gives this constant; -1 for {@link #UNKNOWN}. */
    public int code() {
        return code;
    }

    /** Returns whether the event reports a failure that lasts until the program acts on it. */
    public boolean isError() {
        return switch (this) {
            case CQ_ERR, QP_FATAL, QP_REQ_ERR, QP_ACCESS_ERR, PATH_MIG_ERR, DEVICE_FATAL, PORT_ERR, SRQ_ERR,
                    WQ_FATAL -> true;
            default -> false;
        };
    }

    /** Returns whether the event is about a port, and not about a queue or the whole device. */
    public boolean isPortEvent() {
        return switch (this) {
            case PORT_ACTIVE, PORT_ERR, LID_CHANGE, PKEY_CHANGE, SM_CHANGE, CLIENT_REREGISTER, GID_CHANGE -> true;
            default -> false;
        };
    }

    /** Returns the constant whose number is {@code code}, or {@link #UNKNOWN} if there is none; never throws. */
    public static AsyncEventType of(int code) {
        for (AsyncEventType each : ALL) {
            if (each.code == code) {
                return each;
            }
        }
        return UNKNOWN;
    }
}
