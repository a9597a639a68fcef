package org.kverbs.spi;

import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.Errno;

/**
 * A provider's connection manager, at the ABI of librdmacm ({@code <rdma/rdma_cma.h>}): it finds the device that leads
 * to an IP address, and exchanges the attributes of two queue pairs.
 *
 * <p>The conventions are those of the package. A call names an event channel, an id or an event by the address of its C
 * structure ({@code struct rdma_event_channel}, {@code rdma_cm_id}, {@code rdma_cm_event}), whose public fields can be
 * read there. A negative result is {@code -errno}. Socket addresses are {@code struct sockaddr_in} or {@code
 * sockaddr_in6}.
 *
 * <p>A queue pair is never made on an id ({@code rdma_create_qp}). The program makes it on any open context of the id's
 * device and moves it through its states by {@link #initQueuePairAttributes}. Therefore an id that connects gets
 * RDMA_CM_EVENT_CONNECT_RESPONSE and answers with {@link #establish}. iWARP devices report RDMA_CM_EVENT_ESTABLISHED at
 * once.
 */
public interface ConnectionManager {

    /** Returns whether its channels and ids are those of librdmacm, which a program can call by itself. */
    default boolean isNative() {
        return false;
    }

    // Events

    /** Makes an event channel, {@code struct rdma_event_channel} ({@code rdma_create_event_channel}). */
    long createEventChannel();

    /**
     * Makes an event channel for a program that named a device. If several devices lead to an address, ids of the
     * channel take this device. The default implementation leaves the choice to the routing table of the system.
     *
     * @param device the name of a device of this provider
     */
    default long createEventChannel(String device) {
        return createEventChannel();
    }

    /**
     * Destroys an event channel ({@code rdma_destroy_event_channel}). The caller has destroyed its ids and acknowledged
     * its events before.
     */
    int destroyEventChannel(long channel);

    /**
     * Returns a file descriptor that is readable while an event is pending, or -1 if the provider has none. Only the
     * provider may read from it.
     */
    int eventChannelFd(long channel);

    /**
     * Waits for an event ({@code rdma_get_cm_event}). The event exists until {@link #ackEvent}.
     *
     * @param timeoutNanos how long to wait; 0 checks once, a negative number waits without limit
     * @return the {@code struct rdma_cm_event *}; 0 if the time ran out or {@link #wakeEventChannel} was called; or
     *     -errno
     */
    long awaitEvent(long channel, long timeoutNanos);

    /** Frees an event ({@code rdma_ack_cm_event}). An id cannot be destroyed before all its events are freed. */
    int ackEvent(long event);

    /** Ends all current and future waits on the channel. The caller calls this before it destroys the channel. */
    void wakeEventChannel(long channel);

    /**
     * Returns sentences that say which addresses the devices reach. They go into the message when no program listens at
     * an address or no route leads to it. Empty if tools of the system show it.
     */
    default String reach() {
        return "";
    }

    /** Returns the names of the devices that ids can be bound to ({@code rdma_get_devices}). */
    default List<String> deviceNames() {
        return List.of();
    }

    // Ids and addresses

    /** Makes an id, {@code struct rdma_cm_id}, of an {@code enum rdma_port_space} ({@code rdma_create_id}). */
    long createId(long channel, int portSpace);

    /** Destroys an id and ends a running step without an event ({@code rdma_destroy_id}). */
    int destroyId(long id);

    /** Moves an id and its pending events to another channel ({@code rdma_migrate_id}). */
    int migrateId(long id, long channel);

    /**
     * Returns the name of the device that an id is bound to, or null if it is not bound ({@code id->verbs}). The port
     * of the device is in {@code port_num}.
     */
    @Nullable String deviceName(long id);

    /**
     * Binds an id to a local address, which can be the wildcard address, and a port, which can be 0 ({@code
     * rdma_bind_addr}).
     */
    int bindAddress(long id, MemorySegment address);

    /**
     * Finds the device that leads to an address; RDMA_CM_EVENT_ADDR_RESOLVED or _ERROR follows ({@code
     * rdma_resolve_addr}).
     */
    int resolveAddress(long id, @Nullable MemorySegment source, MemorySegment destination, int timeoutMillis);

    /** Finds the route to the address; RDMA_CM_EVENT_ROUTE_RESOLVED or _ERROR follows ({@code rdma_resolve_route}). */
    int resolveRoute(long id, int timeoutMillis);

    // Connections

    /**
     * Starts to listen for connection requests. Each is reported as RDMA_CM_EVENT_CONNECT_REQUEST with a new id ({@code
     * rdma_listen}).
     */
    int listen(long id, int backlog);

    /**
     * Connects by {@code struct rdma_conn_param} with {@code qp_num}; for datagrams it resolves the service ({@code
     * rdma_connect}).
     */
    int connect(long id, MemorySegment parameters);

    /** Accepts a request by {@code struct rdma_conn_param} with {@code qp_num} ({@code rdma_accept}). */
    int accept(long id, MemorySegment parameters);

    /** Rejects a request; the private data has the length of its segment ({@code rdma_reject}). */
    int reject(long id, MemorySegment privateData);

    /**
     * Rejects a request because of the options that the peer offered for enhanced connection establishment ({@code
     * rdma_reject_ece}).
     */
    int rejectEce(long id, MemorySegment privateData);

    /** Answers RDMA_CM_EVENT_CONNECT_RESPONSE when the queue pair can receive ({@code rdma_establish}). */
    int establish(long id);

    /**
     * Ends a connection ({@code rdma_disconnect}). The peer gets RDMA_CM_EVENT_DISCONNECTED, and this side when the
     * peer has answered by the same call.
     */
    int disconnect(long id);

    /**
     * Passes an {@code enum ibv_event_type} of the queue pair to the connection manager: IBV_EVENT_COMM_EST ({@code
     * rdma_notify}).
     */
    int notify(long id, int event);

    /**
     * Fills {@code struct ibv_qp_attr} and its mask for the state in its {@code qp_state} ({@code rdma_init_qp_attr}).
     *
     * @param mask receives the mask, an int
     */
    int initQueuePairAttributes(long id, MemorySegment attributes, MemorySegment mask);

    /**
     * Adds RDMA_CM_EVENT_USER to the events of an id ({@code rdma_write_cm_event}).
     *
     * @return 0 or -errno; -ENOSYS or -EOPNOTSUPP if the provider does not have it
     */
    default int writeEvent(long id, int status, long argument) {
        return -Errno.EOPNOTSUPP;
    }

    // Multicast, options

    /**
     * Joins a multicast group ({@code rdma_join_multicast_ex}). RDMA_CM_EVENT_MULTICAST_JOIN follows with the address
     * of the group.
     */
    int joinMulticast(long id, MemorySegment address, int joinFlags);

    /** Leaves a multicast group ({@code rdma_leave_multicast}). */
    int leaveMulticast(long id, MemorySegment address);

    /** Sets an option by its {@code RDMA_OPTION_*} level and name ({@code rdma_set_option}). */
    int setOption(long id, int level, int name, MemorySegment value);

    /** Sets the {@code struct ibv_ece} that the next connect or accept offers ({@code rdma_set_local_ece}). */
    int setLocalEce(long id, MemorySegment ece);

    /** Fills {@code struct ibv_ece} with the options that the peer offered ({@code rdma_get_remote_ece}). */
    int getRemoteEce(long id, MemorySegment ece);

    // Names

    /**
     * Finds addresses, {@code struct rdma_addrinfo *}, by UTF-8 names with a final NUL, of which one can be null
     * ({@code rdma_getaddrinfo}).
     */
    long addressInfo(@Nullable MemorySegment node, @Nullable MemorySegment service, @Nullable MemorySegment hints);

    /**
     * Finds addresses for an id; RDMA_CM_EVENT_ADDRINFO_RESOLVED follows ({@code rdma_resolve_addrinfo}). The
     * parameters are those of {@link #addressInfo}.
     *
     * @return 0 or -errno; -ENOSYS or -EOPNOTSUPP if the provider does not have it
     */
    default int resolveAddressInfo(
            long id,
            @Nullable MemorySegment node,
            @Nullable MemorySegment service,
            @Nullable MemorySegment hints) {
        return -Errno.EOPNOTSUPP;
    }

    /**
     * Takes the addresses that {@link #resolveAddressInfo} found ({@code rdma_query_addrinfo}). The caller frees them
     * by {@link #freeAddressInfo}.
     *
     * @return the {@code struct rdma_addrinfo *}, or -errno
     */
    default long queryAddressInfo(long id) {
        return -Errno.EOPNOTSUPP;
    }

    /** Frees addresses ({@code rdma_freeaddrinfo}). */
    void freeAddressInfo(long info);
}
