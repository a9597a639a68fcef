package org.kverbs.internal.ffm;

import org.kverbs.internal.abi.AddressInfoErrors;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.ffm.NativeLibrary.Function;

/**
 * The functions of librdmacm.so.1, one method each ({@code man 7 rdma_cm}). Pointers are {@code long}. Nearly all of them return 0, or -1
 * with errno; the result here is below zero for {@code -errno}.
 */
final class Librdmacm {

    /** System property with another file name or path of the library, for an installation of one's own. */
    static final String FILE_PROPERTY = "kverbs.librdmacm";

    private final NativeLibrary library;
    private final Function createEventChannel;
    private final Function destroyEventChannel;
    private final Function getCmEvent;
    private final Function ackCmEvent;
    private final Function createId;
    private final Function destroyId;
    private final Function migrateId;
    private final Function bindAddr;
    private final Function resolveAddr;
    private final Function resolveRoute;
    private final Function listen;
    private final Function connect;
    private final Function accept;
    private final Function reject;
    private final Function rejectEce;
    private final Function establish;
    private final Function disconnect;
    private final Function notify;
    private final Function initQpAttr;
    private final Function joinMulticastEx;
    private final Function leaveMulticast;
    private final Function setOption;
    private final Function setLocalEce;
    private final Function getRemoteEce;
    private final Function getaddrinfo;
    private final Function freeaddrinfo;

    Librdmacm() {
        library = NativeLibrary.load(file());
        createEventChannel = base("rdma_create_event_channel");
        destroyEventChannel = base("rdma_destroy_event_channel");
        getCmEvent = base("rdma_get_cm_event");
        ackCmEvent = base("rdma_ack_cm_event");
        createId = base("rdma_create_id");
        destroyId = base("rdma_destroy_id");
        migrateId = base("rdma_migrate_id");
        bindAddr = base("rdma_bind_addr");
        resolveAddr = base("rdma_resolve_addr");
        resolveRoute = base("rdma_resolve_route");
        listen = base("rdma_listen");
        connect = base("rdma_connect");
        accept = base("rdma_accept");
        reject = base("rdma_reject");
        rejectEce = library.function("rdma_reject_ece", 31);
        establish = library.function("rdma_establish", 23);
        disconnect = base("rdma_disconnect");
        notify = base("rdma_notify");
        initQpAttr = library.function("rdma_init_qp_attr", 23);
        joinMulticastEx = library.function("rdma_join_multicast_ex", 16);
        leaveMulticast = base("rdma_leave_multicast");
        setOption = base("rdma_set_option");
        setLocalEce = library.function("rdma_set_local_ece", 31);
        getRemoteEce = library.function("rdma_get_remote_ece", 31);
        getaddrinfo = base("rdma_getaddrinfo");
        freeaddrinfo = base("rdma_freeaddrinfo");
    }

    /** The library's file, as the system property or the default has it. */
    static String file() {
        return System.getProperty(FILE_PROPERTY, "librdmacm.so.1");
    }

    /** A function that every release of rdma-core has. */
    private Function base(String symbol) {
        return library.function(symbol, 0);
    }

    /** 0, or -1 with errno; a command that the kernel refused may come as its -errno. */
    private static int status(long result) {
        int code = (int) result;
        if (code == -1) {
            return -Downcalls.errno();
        }
        return code > 0 ? -code : code;
    }

    // man 3 rdma_create_event_channel: pointer or NULL with errno
    long createEventChannel() {
        long channel = Downcalls.call(createEventChannel.address());
        return channel == 0 ? -Downcalls.errno() : channel;
    }

    // man 3 rdma_destroy_event_channel: void
    void destroyEventChannel(long channel) {
        Downcalls.call(destroyEventChannel.address(), channel);
    }

    // man 3 rdma_get_cm_event: 0 or -1 with errno (EAGAIN on a non-blocking channel)
    int getCmEvent(long channel, long event) {
        return status(Downcalls.call(getCmEvent.address(), channel, event));
    }

    // man 3 rdma_ack_cm_event: 0 or -1 with errno
    int ackCmEvent(long event) {
        return status(Downcalls.call(ackCmEvent.address(), event));
    }

    // man 3 rdma_create_id: 0 or -1 with errno
    int createId(long channel, long id, int portSpace) {
        return status(Downcalls.call(createId.address(), channel, id, 0, portSpace));
    }

    // man 3 rdma_destroy_id: 0 or -1 with errno; waits until the id's events are acknowledged
    int destroyId(long id) {
        return status(Downcalls.call(destroyId.address(), id));
    }

    // man 3 rdma_migrate_id: 0 or -1 with errno; waits until the id's events are acknowledged
    int migrateId(long id, long channel) {
        return status(Downcalls.call(migrateId.address(), id, channel));
    }

    // man 3 rdma_bind_addr: 0 or -1 with errno
    int bindAddr(long id, long address) {
        return status(Downcalls.call(bindAddr.address(), id, address));
    }

    // man 3 rdma_resolve_addr: 0 or -1 with errno
    int resolveAddr(long id, long source, long destination, int timeoutMillis) {
        return status(Downcalls.call(resolveAddr.address(), id, source, destination, timeoutMillis));
    }

    // man 3 rdma_resolve_route: 0 or -1 with errno
    int resolveRoute(long id, int timeoutMillis) {
        return status(Downcalls.call(resolveRoute.address(), id, timeoutMillis));
    }

    // man 3 rdma_listen: 0 or -1 with errno
    int listen(long id, int backlog) {
        return status(Downcalls.call(listen.address(), id, backlog));
    }

    // man 3 rdma_connect: 0 or -1 with errno
    int connect(long id, long parameters) {
        return status(Downcalls.call(connect.address(), id, parameters));
    }

    // man 3 rdma_accept: 0 or -1 with errno
    int accept(long id, long parameters) {
        return status(Downcalls.call(accept.address(), id, parameters));
    }

    // man 3 rdma_reject: 0 or -1 with errno; the length is a uint8_t
    int reject(long id, long privateData, int length) {
        return status(Downcalls.call(reject.address(), id, privateData, length));
    }

    // rdma_cma.h: the same as rdma_reject
    int rejectEce(long id, long privateData, int length) {
        return status(Downcalls.call(rejectEce.address(), id, privateData, length));
    }

    // man 3 rdma_establish: 0 or -1 with errno
    int establish(long id) {
        return status(Downcalls.call(establish.address(), id));
    }

    // man 3 rdma_disconnect: 0 or -1 with errno
    int disconnect(long id) {
        return status(Downcalls.call(disconnect.address(), id));
    }

    // man 3 rdma_notify: 0 or -1 with errno
    int notify(long id, int event) {
        return status(Downcalls.call(notify.address(), id, event));
    }

    // man 3 rdma_init_qp_attr: 0 or -1 with errno
    int initQpAttr(long id, long attributes, long mask) {
        return status(Downcalls.call(initQpAttr.address(), id, attributes, mask));
    }

    // man 3 rdma_join_multicast_ex: 0 or -1 with errno; its event gives no context back, for there is none
    int joinMulticastEx(long id, long attributes) {
        return status(Downcalls.call(joinMulticastEx.address(), id, attributes, 0));
    }

    // man 3 rdma_leave_multicast: 0 or -1 with errno
    int leaveMulticast(long id, long address) {
        return status(Downcalls.call(leaveMulticast.address(), id, address));
    }

    // man 3 rdma_set_option: 0 or -1 with errno
    int setOption(long id, int level, int name, long value, long length) {
        return status(Downcalls.call(setOption.address(), id, level, name, value, length));
    }

    // man 3 rdma_set_local_ece: 0 or -1 with errno
    int setLocalEce(long id, long ece) {
        return status(Downcalls.call(setLocalEce.address(), id, ece));
    }

    // man 3 rdma_get_remote_ece: 0 or -1 with errno
    int getRemoteEce(long id, long ece) {
        return status(Downcalls.call(getRemoteEce.address(), id, ece));
    }

    // man 3 rdma_getaddrinfo: 0, -1 with errno, or what getaddrinfo(3) returned
    int getaddrinfo(long node, long service, long hints, long result) {
        int code = (int) Downcalls.call(getaddrinfo.address(), node, service, hints, result);
        return switch (code) {
            case 0 -> 0;
            case AddressInfoErrors.EAI_AGAIN -> -Errno.EAGAIN;
            case AddressInfoErrors.EAI_MEMORY -> -Errno.ENOMEM;
            case AddressInfoErrors.EAI_FAMILY -> -Errno.EAFNOSUPPORT;
            case AddressInfoErrors.EAI_SOCKTYPE -> -Errno.EPROTONOSUPPORT;
            case AddressInfoErrors.EAI_FAIL -> -Errno.EIO;
            case AddressInfoErrors.EAI_BADFLAGS, AddressInfoErrors.EAI_SYSTEM -> -Downcalls.errno();
            default -> -Errno.ENOENT; // EAI_NONAME, EAI_SERVICE and glibc's own kinds of the same
        };
    }

    // man 3 rdma_freeaddrinfo: void
    void freeaddrinfo(long info) {
        Downcalls.call(freeaddrinfo.address(), info);
    }
}
