package org.kverbs.internal.ffm;

import org.kverbs.internal.abi.AddressInfoErrors;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.ffm.NativeLibrary.Function;

/**
 * The functions of librdmacm.so.1, one method each ({@code man 7 rdma_cm}). Pointers are {@code long}. Nearly all of
 * them return 0, or -1 with errno. The result here is {@code -errno} if it is negative.
 */
final class Librdmacm {

    /**
     * The system property that names another file or path of the library, for an installation outside the system's
     * folders.
     */
    static final String FILE_PROPERTY = "kverbs.librdmacm";

    private final NativeLibrary library = NativeLibrary.load(file());
    private final Function createEventChannel = library.function("rdma_create_event_channel");
    private final Function destroyEventChannel = library.function("rdma_destroy_event_channel");
    private final Function getCmEvent = library.function("rdma_get_cm_event");
    private final Function ackCmEvent = library.function("rdma_ack_cm_event");
    private final Function createId = library.function("rdma_create_id");
    private final Function destroyId = library.function("rdma_destroy_id");
    private final Function migrateId = library.function("rdma_migrate_id");
    private final Function bindAddr = library.function("rdma_bind_addr");
    private final Function resolveAddr = library.function("rdma_resolve_addr");
    private final Function resolveRoute = library.function("rdma_resolve_route");
    private final Function listen = library.function("rdma_listen");
    private final Function connect = library.function("rdma_connect");
    private final Function accept = library.function("rdma_accept");
    private final Function reject = library.function("rdma_reject");
    private final Function rejectEce = library.function("rdma_reject_ece", 31);
    private final Function establish = library.function("rdma_establish", 23);
    private final Function disconnect = library.function("rdma_disconnect");
    private final Function notify = library.function("rdma_notify");
    private final Function initQpAttr = library.function("rdma_init_qp_attr", 23);
    private final Function joinMulticastEx = library.function("rdma_join_multicast_ex", 16);
    private final Function leaveMulticast = library.function("rdma_leave_multicast");
    private final Function setOption = library.function("rdma_set_option");
    private final Function setLocalEce = library.function("rdma_set_local_ece", 31);
    private final Function getRemoteEce = library.function("rdma_get_remote_ece", 31);
    private final Function getaddrinfo = library.function("rdma_getaddrinfo");
    private final Function freeaddrinfo = library.function("rdma_freeaddrinfo");
    private final Function getDevices = library.function("rdma_get_devices");
    private final Function freeDevices = library.function("rdma_free_devices");
    private final Function writeCmEvent = library.function("rdma_write_cm_event", 60);
    private final Function resolveAddrinfo = library.function("rdma_resolve_addrinfo", 60);
    private final Function queryAddrinfo = library.function("rdma_query_addrinfo", 60);

    /** Returns the file of the library from the system property, or its default. */
    static String file() {
        return System.getProperty(FILE_PROPERTY, "librdmacm.so.1");
    }

    // man 3 rdma_create_event_channel: pointer or NULL with errno
    long createEventChannel() {
        return Downcalls.pointer(createEventChannel.address());
    }

    // man 3 rdma_destroy_event_channel: void
    void destroyEventChannel(long channel) {
        Downcalls.call(destroyEventChannel.address(), channel);
    }

    // man 3 rdma_get_cm_event: 0 or -1 with errno (EAGAIN on a non-blocking channel)
    int getCmEvent(long channel, long event) {
        return Downcalls.status(Downcalls.withErrno(getCmEvent.address(), channel, event));
    }

    // man 3 rdma_ack_cm_event: 0 or -1 with errno
    int ackCmEvent(long event) {
        return Downcalls.status(Downcalls.withErrno(ackCmEvent.address(), event));
    }

    // man 3 rdma_create_id: 0 or -1 with errno
    int createId(long channel, long id, int portSpace) {
        return Downcalls.status(Downcalls.withErrno(createId.address(), channel, id, 0, portSpace));
    }

    // man 3 rdma_destroy_id: 0 or -1 with errno; waits until the id's events are acknowledged
    int destroyId(long id) {
        return Downcalls.status(Downcalls.withErrno(destroyId.address(), id));
    }

    // man 3 rdma_migrate_id: 0 or -1 with errno; waits until the id's events are acknowledged
    int migrateId(long id, long channel) {
        return Downcalls.status(Downcalls.withErrno(migrateId.address(), id, channel));
    }

    // man 3 rdma_bind_addr: 0 or -1 with errno
    int bindAddr(long id, long address) {
        return Downcalls.status(Downcalls.withErrno(bindAddr.address(), id, address));
    }

    // man 3 rdma_resolve_addr: 0 or -1 with errno
    int resolveAddr(long id, long source, long destination, int timeoutMillis) {
        return Downcalls.status(Downcalls.withErrno(resolveAddr.address(), id, source, destination, timeoutMillis));
    }

    // man 3 rdma_resolve_route: 0 or -1 with errno
    int resolveRoute(long id, int timeoutMillis) {
        return Downcalls.status(Downcalls.withErrno(resolveRoute.address(), id, timeoutMillis));
    }

    // man 3 rdma_listen: 0 or -1 with errno
    int listen(long id, int backlog) {
        return Downcalls.status(Downcalls.withErrno(listen.address(), id, backlog));
    }

    // man 3 rdma_connect: 0 or -1 with errno
    int connect(long id, long parameters) {
        return Downcalls.status(Downcalls.withErrno(connect.address(), id, parameters));
    }

    // man 3 rdma_accept: 0 or -1 with errno
    int accept(long id, long parameters) {
        return Downcalls.status(Downcalls.withErrno(accept.address(), id, parameters));
    }

    // man 3 rdma_reject: 0 or -1 with errno; the length is a uint8_t
    int reject(long id, long privateData, int length) {
        return Downcalls.status(Downcalls.withErrno(reject.address(), id, privateData, length));
    }

    // rdma_cma.h: the same as rdma_reject
    int rejectEce(long id, long privateData, int length) {
        return Downcalls.status(Downcalls.withErrno(rejectEce.address(), id, privateData, length));
    }

    // man 3 rdma_establish: 0 or -1 with errno
    int establish(long id) {
        return Downcalls.status(Downcalls.withErrno(establish.address(), id));
    }

    // man 3 rdma_disconnect: 0 or -1 with errno
    int disconnect(long id) {
        return Downcalls.status(Downcalls.withErrno(disconnect.address(), id));
    }

    // man 3 rdma_notify: 0 or -1 with errno
    int notify(long id, int event) {
        return Downcalls.status(Downcalls.withErrno(notify.address(), id, event));
    }

    // man 3 rdma_init_qp_attr: 0 or -1 with errno
    int initQpAttr(long id, long attributes, long mask) {
        return Downcalls.status(Downcalls.withErrno(initQpAttr.address(), id, attributes, mask));
    }

    // man 3 rdma_join_multicast_ex: 0 or -1 with errno; it takes no context, so its event returns none
    int joinMulticastEx(long id, long attributes) {
        return Downcalls.status(Downcalls.withErrno(joinMulticastEx.address(), id, attributes, 0));
    }

    // man 3 rdma_leave_multicast: 0 or -1 with errno
    int leaveMulticast(long id, long address) {
        return Downcalls.status(Downcalls.withErrno(leaveMulticast.address(), id, address));
    }

    // man 3 rdma_set_option: 0 or -1 with errno
    int setOption(long id, int level, int name, long value, long length) {
        return Downcalls.status(Downcalls.withErrno(setOption.address(), id, level, name, value, length));
    }

    // man 3 rdma_set_local_ece: 0 or -1 with errno
    int setLocalEce(long id, long ece) {
        return Downcalls.status(Downcalls.withErrno(setLocalEce.address(), id, ece));
    }

    // man 3 rdma_get_remote_ece: 0 or -1 with errno
    int getRemoteEce(long id, long ece) {
        return Downcalls.status(Downcalls.withErrno(getRemoteEce.address(), id, ece));
    }

    // man 3 rdma_getaddrinfo: 0, -1 with errno, or the result of getaddrinfo(3)
    int getaddrinfo(long node, long service, long hints, long result) {
        long answer = Downcalls.withErrno(getaddrinfo.address(), node, service, hints, result);
        return switch ((int) answer) {
            case 0 -> 0;
            case AddressInfoErrors.EAI_AGAIN -> -Errno.EAGAIN;
            case AddressInfoErrors.EAI_MEMORY -> -Errno.ENOMEM;
            case AddressInfoErrors.EAI_FAMILY -> -Errno.EAFNOSUPPORT;
            case AddressInfoErrors.EAI_SOCKTYPE -> -Errno.EPROTONOSUPPORT;
            case AddressInfoErrors.EAI_FAIL -> -Errno.EIO;
            case AddressInfoErrors.EAI_BADFLAGS, AddressInfoErrors.EAI_SYSTEM -> -Downcalls.errno(answer);
            default -> -Errno.ENOENT; // EAI_NONAME, EAI_SERVICE and glibc's variants of them
        };
    }

    // man 3 rdma_freeaddrinfo: void
    void freeaddrinfo(long info) {
        Downcalls.call(freeaddrinfo.address(), info);
    }

    // man 3 rdma_get_devices: a list that ends in NULL, or NULL with errno
    long getDevices(long count) {
        return Downcalls.pointer(getDevices.address(), count);
    }

    // man 3 rdma_free_devices: void
    void freeDevices(long list) {
        Downcalls.call(freeDevices.address(), list);
    }

    // man 3 rdma_write_cm_event: 0 or -1 with errno; EINVAL from a kernel that does not know it
    int writeCmEvent(long id, int event, int status, long argument) {
        return writeCmEvent.isPresent()
                ? Downcalls.status(Downcalls.withErrno(writeCmEvent.address(), id, event, status, argument))
                : -Errno.ENOSYS;
    }

    // man 3 rdma_resolve_addrinfo: 0 or -1 with errno. The library can put the result of an inner call there: that of
    // getaddrinfo(3) for a name that was not found, or -1 if the kernel does not know the command
    int resolveAddrinfo(long id, long node, long service, long hints) {
        if (!resolveAddrinfo.isPresent()) {
            return -Errno.ENOSYS;
        }
        long answer = Downcalls.withErrno(resolveAddrinfo.address(), id, node, service, hints);
        if ((int) answer == 0) {
            return 0;
        }
        int errno = Downcalls.errno(answer);
        if (errno > 0) {
            return -errno;
        }
        return errno == -1 ? -Errno.EINVAL : -Errno.ENOENT;
    }

    // man 3 rdma_query_addrinfo: 0 or -1 with errno
    int queryAddrinfo(long id, long result) {
        return queryAddrinfo.isPresent()
                ? Downcalls.status(Downcalls.withErrno(queryAddrinfo.address(), id, result)) : -Errno.ENOSYS;
    }
}
