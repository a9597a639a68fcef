package org.kverbs.cm;

import org.kverbs.internal.abi.RdmaCmEventType;

/** The type of an event of a connection id: {@code enum rdma_cm_event_type} (rdma_get_cm_event(3)). */
public enum ConnectionEventType {
    /**
     * {@code RDMA_CM_EVENT_ADDR_RESOLVED}: the id is bound to the device that leads to the address; resolve the route
     * next.
     */
    ADDR_RESOLVED(RdmaCmEventType.RDMA_CM_EVENT_ADDR_RESOLVED),
    /** {@code RDMA_CM_EVENT_ADDR_ERROR}: no device leads to the address, or no host answers for it. */
    ADDR_ERROR(RdmaCmEventType.RDMA_CM_EVENT_ADDR_ERROR),
    /** {@code RDMA_CM_EVENT_ROUTE_RESOLVED}: the route is known; connect next. */
    ROUTE_RESOLVED(RdmaCmEventType.RDMA_CM_EVENT_ROUTE_RESOLVED),
    /** {@code RDMA_CM_EVENT_ROUTE_ERROR}: no route was found. */
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
    /** {@code RDMA_CM_EVENT_UNREACHABLE}: the peer does not answer; for datagrams, the peer has no such service. */
    UNREACHABLE(RdmaCmEventType.RDMA_CM_EVENT_UNREACHABLE),
    /** {@code RDMA_CM_EVENT_REJECTED}: no program listens there, or the peer rejected the request. */
    REJECTED(RdmaCmEventType.RDMA_CM_EVENT_REJECTED),
    /**
     * {@code RDMA_CM_EVENT_ESTABLISHED}: the connection is up; for datagrams, the peer's queue pair and address are
     * known.
     */
    ESTABLISHED(RdmaCmEventType.RDMA_CM_EVENT_ESTABLISHED),
    /** {@code RDMA_CM_EVENT_DISCONNECTED}: one of the two sides ended the connection. */
    DISCONNECTED(RdmaCmEventType.RDMA_CM_EVENT_DISCONNECTED),
    /** {@code RDMA_CM_EVENT_DEVICE_REMOVAL}: the device of the id is being removed; close the id. */
    DEVICE_REMOVAL(RdmaCmEventType.RDMA_CM_EVENT_DEVICE_REMOVAL),
    /**
     * {@code RDMA_CM_EVENT_MULTICAST_JOIN}: the id joined the group; attach the queue pair to the group's GID, and send
     * to its address.
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
     * {@code RDMA_CM_EVENT_TIMEWAIT_EXIT}: the last packets of the queue pair are gone from the network; it can be
     * connected again.
     */
    TIMEWAIT_EXIT(RdmaCmEventType.RDMA_CM_EVENT_TIMEWAIT_EXIT),
    /**
     * {@code RDMA_CM_EVENT_ADDRINFO_RESOLVED}: {@link AddressLookup#resolve} found addresses, which {@link
     * AddressLookup#query} returns. Since rdma-core 60.
     */
    ADDRINFO_RESOLVED(16),
    /** {@code RDMA_CM_EVENT_ADDRINFO_ERROR}: the names of a request were not resolved. Since rdma-core 60. */
    ADDRINFO_ERROR(17),
    /**
     * {@code RDMA_CM_EVENT_USER}: an event of the program, by {@link ConnectionId#writeEvent}. Since rdma-core 60.
     */
    USER(18),
    /** A value that this release of kverbs has no name for. C has no such constant. */
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

    /** Returns whether a step failed, so that no further event of the step follows. */
    public boolean isError() {
        return switch (this) {
            case ADDR_ERROR, ROUTE_ERROR, CONNECT_ERROR, UNREACHABLE, REJECTED, DEVICE_REMOVAL, MULTICAST_ERROR,
                    ADDRINFO_ERROR -> true;
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
