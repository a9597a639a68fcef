package org.kverbs.internal;

import static org.kverbs.internal.abi.Errno.*;

import org.jspecify.annotations.Nullable;

/** Says what to do about an errno of a function of librdmacm. */
final class ConnectionAdvice {
    private ConnectionAdvice() {}

    /** Returns advice on a call that failed; null if the general advice on the errno applies. */
    static @Nullable String call(String function, int errno) {
        if (function.equals("rdma_query_addrinfo") && errno == ENOENT) {
            return "The id has no addresses: wait for ADDRINFO_RESOLVED, and query them once.";
        }
        return switch (errno) {
            case EINVAL -> invalid(function);
            case ENODEV, ENOENT, ENXIO, EACCES, EPERM -> function.equals("rdma_getaddrinfo")
                    || function.equals("rdma_resolve_addrinfo")
                    ? "There is no such host or service: check the names, or give numbers."
                    : function.equals("rdma_create_event_channel") || function.equals("rdma_create_id")
                            ? "The kernel's connection manager is reached by /dev/infiniband/rdma_cm: `modprobe "
                                    + "rdma_ucm` makes it, it must be open to this user, and passed through to the "
                                    + "container, if it is in one (`docker run --device=/dev/infiniband/rdma_cm`)."
                            : errno == ENODEV ? "No RDMA device has that address: `rdma link` names the network "
                                    + "device of each, `ip addr` their addresses." : null;
            case EAGAIN -> function.equals("rdma_getaddrinfo") ? "No name server answers: try later, or give the "
                    + "address itself." : null;
            case EADDRINUSE -> "Another id has this port on this address: choose another port, or 0 for any that is "
                    + "free.";
            case EADDRNOTAVAIL -> function.equals("rdma_leave_multicast") ? "The id has not joined that group."
                    : "It is no address of this machine (`ip addr` lists them), or another id has this port and has "
                    + "it on every address.";
            case EAFNOSUPPORT -> "The two addresses are of different families, or of one that the id can't have.";
            case EISCONN, EALREADY -> "The step was taken already.";
            case ENOTCONN -> "The id isn't connected.";
            case EBUSY -> function.equals("rdma_resolve_addrinfo")
                    ? "The id has addresses that nobody queried yet: query them first." : null;
            default -> null;
        };
    }

    private static @Nullable String invalid(String function) {
        return switch (function) {
            case "rdma_bind_addr" -> "An id is bound once, and before it is resolved.";
            case "rdma_resolve_addr" -> "An id is resolved once at a time, to an address of the same family that it "
                    + "is bound to.";
            case "rdma_resolve_route" -> "The address must be resolved first: wait for ADDR_RESOLVED.";
            case "rdma_listen" -> "An id listens once, and not after it was resolved.";
            case "rdma_connect" -> "The route must be resolved first (wait for ROUTE_RESOLVED). Private data of a "
                    + "request has at most 56 bytes on InfiniBand and RoCE, 180 for datagrams; reads and atomics are "
                    + "at most what the device can.";
            case "rdma_accept" -> "Only the id of a CONNECT_REQUEST can be accepted, once. Private data of an answer "
                    + "has at most 196 bytes on InfiniBand and RoCE, 136 for datagrams; reads and atomics are at most "
                    + "what the device can and the peer asked.";
            case "rdma_reject", "rdma_reject_ece" -> "Only the id of a CONNECT_REQUEST can be rejected, once. Private "
                    + "data of a rejection has at most 148 bytes on InfiniBand and RoCE, 136 for datagrams.";
            case "rdma_establish" -> "It answers CONNECT_RESPONSE, once; iWARP and datagrams have none.";
            case "rdma_disconnect" -> "The id isn't connected.";
            case "rdma_init_qp_attr" -> "INIT has attributes when the id is bound to a device, RTR and RTS from "
                    + "CONNECT_REQUEST or CONNECT_RESPONSE on.";
            case "rdma_notify" -> "The id has no connection that is being made.";
            case "rdma_join_multicast_ex" -> "The id must be bound to a device first (bind, or ADDR_RESOLVED), and be "
                    + "of port space UDP or IPOIB.";
            case "rdma_write_cm_event" -> "The kernel doesn't know events of programs: a newer one does.";
            case "rdma_resolve_addrinfo" -> "A listening side may leave out the host; flags and family must fit the "
                    + "names. The kernel must know the command, as newer ones do.";
            case "rdma_set_option" -> "The kernel or the device doesn't know the option, or it is too late for it.";
            case "rdma_set_local_ece" -> "The vendor must not be 0, and the mask must be.";
            case "rdma_getaddrinfo" -> "A listening side may leave out the host; flags and family must fit the names.";
            default -> null;
        };
    }
}
