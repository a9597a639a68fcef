package org.kverbs.cm;

import org.kverbs.internal.abi.RdmaCmEventType;

/** What happened to a connection id: {@code enum rdma_cm_event_type} (rdma_get_cm_event(3)). */
public enum ConnectionEventType {
    /**
     * {@code RDMA_CM_EVENT_ADDR_RESOLVED}: the id is bound to the device that leads to the address; resolve the route
     * next.
     */
    ADDR_RESOLVED(RdmaCmEventType.RDMA_CM_EVENT_ADDR_RESOLVED),
    /** {@code RDMA_CM_EVENT_ADDR_ERROR}: no device leads there, or nobody answers for the address. */
    ADDR_ERROR(RdmaCmEventType.RDMA_CM_EVENT_ADDR_ERROR),
    /** {@code RDMA_CM_EVENT_ROUTE_RESOLVED}: the way is known; connect next. */
    ROUTE_RESOLVED(RdmaCmEventType.RDMA_CM_EVENT_ROUTE_RESOLVED),
    /** {@code RDMA_CM_EVENT_ROUTE_ERROR}: no way was found. */
    ROUTE_ERROR(RdmaCmEventType.RDMA_CM_EVENT_ROUTE_ERROR),
    /**
     * {@code RDMA_CM_EVENT_CONNECT_REQUEST}: a peer wants to connect to a listening id; the event has a new id for it.
     */
    CONNECT_REQUEST(RdmaCmEventType.RDMA_CM_EVENT_CONNECT_REQUEST),
    /**
     * {@code RDMA_CM_EVENT_CONNECT_RESPONSE}: the peer accepted; bring the queue pair to RTS and
     * {@link ConnectionId#establish}.
     */
    CONNECT_RESPONSE(RdmaCmEventType.RDMA_CM_EVENT_CONNECT_RESPONSE),
    /** {@code RDMA_CM_EVENT_CONNECT_ERROR}: connecting or accepting failed here or on the way. */
    CONNECT_ERROR(RdmaCmEventType.RDMA_CM_EVENT_CONNECT_ERROR),
    /** {@code RDMA_CM_EVENT_UNREACHABLE}: the peer doesn't answer; for datagrams, it has no such service. */
    UNREACHABLE(RdmaCmEventType.RDMA_CM_EVENT_UNREACHABLE),
    /** {@code RDMA_CM_EVENT_REJECTED}: nobody listens there, or the peer said no. */
    REJECTED(RdmaCmEventType.RDMA_CM_EVENT_REJECTED),
    /** {@code RDMA_CM_EVENT_ESTABLISHED}: connected; for datagrams, the peer's queue pair and address are known. */
    ESTABLISHED(RdmaCmEventType.RDMA_CM_EVENT_ESTABLISHED),
    /** {@code RDMA_CM_EVENT_DISCONNECTED}: the connection ended, by either side. */
    DISCONNECTED(RdmaCmEventType.RDMA_CM_EVENT_DISCONNECTED),
    /** {@code RDMA_CM_EVENT_DEVICE_REMOVAL}: the id's device goes away; close the id. */
    DEVICE_REMOVAL(RdmaCmEventType.RDMA_CM_EVENT_DEVICE_REMOVAL),
    /**
     * {@code RDMA_CM_EVENT_MULTICAST_JOIN}: joined; attach the queue pair to the group's GID, and send to its address.
     */
    MULTICAST_JOIN(RdmaCmEventType.RDMA_CM_EVENT_MULTICAST_JOIN),
    /** {@code RDMA_CM_EVENT_MULTICAST_ERROR}: joining failed, or the group ended. */
    MULTICAST_ERROR(RdmaCmEventType.RDMA_CM_EVENT_MULTICAST_ERROR),
    /**
     * {@code RDMA_CM_EVENT_ADDR_CHANGE}: the network device of the address changed its hardware address, as when a bond
     * fails over.
     */
    ADDR_CHANGE(RdmaCmEventType.RDMA_CM_EVENT_ADDR_CHANGE),
    /**
     * {@code RDMA_CM_EVENT_TIMEWAIT_EXIT}: the queue pair's last packets are gone from the network; it may be connected
     * anew.
     */
    TIMEWAIT_EXIT(RdmaCmEventType.RDMA_CM_EVENT_TIMEWAIT_EXIT),
    /** No C constant: a value that this release of kverbs has no name for. */
    UNKNOWN(-1);

    private static final ConnectionEventType[] ALL = values();

    private final int code;

    ConnectionEventType(int code) {
        this.code = code;
    }

    /** Returns the number that {@code enum rdma_cm_event_type} gives this constant; -1 for {@link #UNKNOWN}. */
    public int code() {
        return code;
    }

    /** Whether a step failed for good, so that nothing else comes of it. */
    public boolean isError() {
        return switch (this) {
            case ADDR_ERROR, ROUTE_ERROR, CONNECT_ERROR, UNREACHABLE, REJECTED, DEVICE_REMOVAL, MULTICAST_ERROR -> true;
            default -> false;
        };
    }

    /** Returns the constant whose number is {@code code}, or {@link #UNKNOWN} if there is none; never throws. */
    public static ConnectionEventType of(int code) {
        for (ConnectionEventType each : ALL) {
            if (each.code == code) {
                return each;
            }
        }
        return UNKNOWN;
    }
}
