package org.kverbs.spi;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A provider's connection manager, at the ABI of librdmacm ({@code <rdma/rdma_cma.h>}): it finds the device behind an
 * IP address, and brings the attributes of two queue pairs together.
 *
 * <p>The conventions are those of the package: event channels, ids and events are named by the address of their C
 * structure ({@code struct rdma_event_channel}, {@code rdma_cm_id}, {@code rdma_cm_event}), whose public fields may be
 * read there; a result below zero is {@code -errno}. Socket addresses are {@code struct sockaddr_in} or {@code
 * sockaddr_in6}.
 *
 * <p>A queue pair is never made on an id ({@code rdma_create_qp}). It is an ordinary one, on any open context of the
 * id's device, and its owner moves it through its states by {@link #initQueuePairAttributes}; so an id that connects
 * gets RDMA_CM_EVENT_CONNECT_RESPONSE and answers with {@link #establish}. iWARP devices give RDMA_CM_EVENT_ESTABLISHED
 * at once.
 */
public interface ConnectionManager {

    // Events

    /** {@code struct rdma_event_channel *} ({@code rdma_create_event_channel}). */
    long createEventChannel();

    /**
     * The same for a program that named a device: where several devices lead to an address, ids of the channel take
     * this one. The default leaves that to the routing table of the system.
     *
     * @param device the name of a device of this provider
     */
    default long createEventChannel(String device) {
        return createEventChannel();
    }

    /** Its ids are destroyed and its events acknowledged ({@code rdma_destroy_event_channel}). */
    int destroyEventChannel(long channel);

    /** A file descriptor that is readable when an event waits, or -1 if the provider has none. Never read it. */
    int eventChannelFd(long channel);

    /**
     * Waits for an event ({@code rdma_get_cm_event}), which stays until {@link #ackEvent}.
     *
     * @param timeoutNanos 0 looks once; below zero waits without limit
     * @return the {@code struct rdma_cm_event *}; 0 if the time ran out or {@link #wakeEventChannel} was called; or
     *     -errno
     */
    long awaitEvent(long channel, long timeoutNanos);

    /** Frees an event ({@code rdma_ack_cm_event}); an id can't be destroyed before all its events are. */
    int ackEvent(long event);

    /** Ends every wait on the channel, now and from now on; it is called before the channel is destroyed. */
    void wakeEventChannel(long channel);

    /**
     * How far its devices reach, as sentences for the message when nobody listens at an address or no way leads there;
     * empty where the system's own tools say it.
     */
    default String reach() {
        return "";
    }

    // Ids and addresses

    /** {@code struct rdma_cm_id *} of an {@code enum rdma_port_space} ({@code rdma_create_id}). */
    long createId(long channel, int portSpace);

    /** {@code rdma_destroy_id}; ends what is under way on it, without an event. */
    int destroyId(long id);

    /** Moves the id and its waiting events to another channel ({@code rdma_migrate_id}). */
    int migrateId(long id, long channel);

    /**
     * Name of the device that the id is bound to, or null before it is ({@code id->verbs}). Its port is in {@code
     * port_num}.
     */
    @Nullable String deviceName(long id);

    /** Binds to a local address, which may be a wildcard, and port, which may be 0 ({@code rdma_bind_addr}). */
    int bindAddress(long id, MemorySegment address);

    /**
     * Finds the device that leads to an address; RDMA_CM_EVENT_ADDR_RESOLVED or _ERROR follows ({@code
     * rdma_resolve_addr}).
     */
    int resolveAddress(long id, @Nullable MemorySegment source, MemorySegment destination, int timeoutMillis);

    /** Finds the way to it; RDMA_CM_EVENT_ROUTE_RESOLVED or _ERROR follows ({@code rdma_resolve_route}). */
    int resolveRoute(long id, int timeoutMillis);

    // Connections

    /**
     * Takes connection requests; each comes as RDMA_CM_EVENT_CONNECT_REQUEST with an id of its own ({@code
     * rdma_listen}).
     */
    int listen(long id, int backlog);

    /**
     * By {@code struct rdma_conn_param} with {@code qp_num}; for datagrams it resolves the service ({@code
     * rdma_connect}).
     */
    int connect(long id, MemorySegment parameters);

    /** By {@code struct rdma_conn_param} with {@code qp_num} ({@code rdma_accept}). */
    int accept(long id, MemorySegment parameters);

    /** The segment's length is the private data's ({@code rdma_reject}). */
    int reject(long id, MemorySegment privateData);

    /** The same, because of what the peer offered for enhanced connection establishment ({@code rdma_reject_ece}). */
    int rejectEce(long id, MemorySegment privateData);

    /** Answers RDMA_CM_EVENT_CONNECT_RESPONSE when the queue pair can receive ({@code rdma_establish}). */
    int establish(long id);

    /**
     * RDMA_CM_EVENT_DISCONNECTED comes to the peer, and here when the peer has answered by the same call ({@code
     * rdma_disconnect}).
     */
    int disconnect(long id);

    /** Tells of an {@code enum ibv_event_type} on the queue pair: IBV_EVENT_COMM_EST ({@code rdma_notify}). */
    int notify(long id, int event);

    /**
     * Fills {@code struct ibv_qp_attr} and its mask for the state that stands in its {@code qp_state} ({@code
     * rdma_init_qp_attr}).
     *
     * @param mask an int, which is set
     */
    int initQueuePairAttributes(long id, MemorySegment attributes, MemorySegment mask);

    // Multicast, options

    /**
     * RDMA_CM_EVENT_MULTICAST_JOIN follows, with what to attach to and where to send ({@code rdma_join_multicast_ex}).
     */
    int joinMulticast(long id, MemorySegment address, int joinFlags);

    /** {@code rdma_leave_multicast}. */
    int leaveMulticast(long id, MemorySegment address);

    /** {@code rdma_set_option} by {@code RDMA_OPTION_*} level and name. */
    int setOption(long id, int level, int name, MemorySegment value);

    /** Sets what the next connect or accept offers, {@code struct ibv_ece} ({@code rdma_set_local_ece}). */
    int setLocalEce(long id, MemorySegment ece);

    /** Fills {@code struct ibv_ece} with what the peer offered ({@code rdma_get_remote_ece}). */
    int getRemoteEce(long id, MemorySegment ece);

    // Names

    /**
     * {@code struct rdma_addrinfo *} by UTF-8 names with a final NUL, either may be null ({@code rdma_getaddrinfo}).
     */
    long addressInfo(@Nullable MemorySegment node, @Nullable MemorySegment service, @Nullable MemorySegment hints);

    /** {@code rdma_freeaddrinfo}. */
    void freeAddressInfo(long info);
}
