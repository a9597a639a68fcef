package org.kverbs.internal.ffm;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvAccessFlags;
import org.kverbs.internal.ffm.NativeLibrary.Function;

/**
 * The exported functions of libibverbs.so.1, one method each; a few newer ones are in the classes that call them, such
 * as {@link NativeImports}. Pointers are {@code long}. A comment at each method names the error convention of its
 * function. The result here is always {@code -errno} if it is negative.
 */
final class Libibverbs {

    /**
     * The system property that names another file or path of the library, for an installation outside the system's
     * folders.
     */
    static final String FILE_PROPERTY = "kverbs.libibverbs";

    private final NativeLibrary library = NativeLibrary.load(file());
    private final Function getDeviceList = library.function("ibv_get_device_list");
    private final Function freeDeviceList = library.function("ibv_free_device_list");
    private final Function getDeviceGuid = library.function("ibv_get_device_guid");
    private final Function openDevice = library.function("ibv_open_device");
    private final Function closeDevice = library.function("ibv_close_device");
    private final Function queryDevice = library.function("ibv_query_device");
    private final Function queryPort = library.function("ibv_query_port");
    private final Function queryGid = library.function("ibv_query_gid");
    private final Function queryGidEx = library.function("_ibv_query_gid_ex", 32);
    private final Function queryGidTable = library.function("_ibv_query_gid_table", 32);
    private final Function queryPkey = library.function("ibv_query_pkey");
    private final Function getPkeyIndex = library.function("ibv_get_pkey_index", 20);
    private final Function allocPd = library.function("ibv_alloc_pd");
    private final Function deallocPd = library.function("ibv_dealloc_pd");
    private final Function regMrIova2 = library.function("ibv_reg_mr_iova2", 28);
    private final Function regMr = library.function("ibv_reg_mr");
    private final Function reregMr = library.function("ibv_rereg_mr");
    private final Function deregMr = library.function("ibv_dereg_mr");
    private final Function regDmabufMr = library.function("ibv_reg_dmabuf_mr", 34);
    private final Function createCompChannel = library.function("ibv_create_comp_channel");
    private final Function destroyCompChannel = library.function("ibv_destroy_comp_channel");
    private final Function getCqEvent = library.function("ibv_get_cq_event");
    private final Function ackCqEvents = library.function("ibv_ack_cq_events");
    private final Function createCq = library.function("ibv_create_cq");
    private final Function resizeCq = library.function("ibv_resize_cq");
    private final Function destroyCq = library.function("ibv_destroy_cq");
    private final Function createSrq = library.function("ibv_create_srq");
    private final Function modifySrq = library.function("ibv_modify_srq");
    private final Function querySrq = library.function("ibv_query_srq");
    private final Function destroySrq = library.function("ibv_destroy_srq");
    private final Function createQp = library.function("ibv_create_qp");
    private final Function modifyQp = library.function("ibv_modify_qp");
    private final Function queryQp = library.function("ibv_query_qp");
    private final Function destroyQp = library.function("ibv_destroy_qp");
    private final Function attachMcast = library.function("ibv_attach_mcast");
    private final Function detachMcast = library.function("ibv_detach_mcast");
    private final Function createAh = library.function("ibv_create_ah");
    private final Function initAhFromWc = library.function("ibv_init_ah_from_wc");
    private final Function destroyAh = library.function("ibv_destroy_ah");
    private final Function getAsyncEvent = library.function("ibv_get_async_event");
    private final Function ackAsyncEvent = library.function("ibv_ack_async_event");
    private final Function isForkInitialized = library.function("ibv_is_fork_initialized", 35);
    private final Function forkInit = library.function("ibv_fork_init");
    private final Function getDeviceIndex = library.function("ibv_get_device_index", 30);
    private final Function resolveEthL2FromGid = library.function("ibv_resolve_eth_l2_from_gid");
    private final Function importDevice = library.function("ibv_import_device", 31);
    private final Function queryQpDataInOrder = library.function("ibv_query_qp_data_in_order", 36);
    private final Function qpToQpEx = library.function("ibv_qp_to_qp_ex", 24);

    /** Returns the file of the library from the system property, or its default. */
    static String file() {
        return System.getProperty(FILE_PROPERTY, "libibverbs.so.1");
    }

    /** Returns whether this release exports a function. */
    boolean has(String symbol) {
        return library.function(symbol).isPresent();
    }

    /** Returns an exported function; NULL if this release has none of this name. */
    MemorySegment find(String symbol) {
        Function function = library.function(symbol);
        return function.isPresent() ? function.address() : MemorySegment.NULL;
    }

    /** Returns a function that {@code release} was the first to have. */
    Function function(String symbol, int release) {
        return library.function(symbol, release);
    }

    /** Returns any function of this library. */
    MemorySegment own() {
        return getDeviceList.address();
    }

    // man 3 ibv_get_device_list: pointer to a NULL-terminated array, or NULL with errno
    long getDeviceList(MemorySegment count) {
        return Downcalls.pointer(getDeviceList.address(), count.address());
    }

    // man 3 ibv_free_device_list: void
    void freeDeviceList(long list) {
        Downcalls.call(freeDeviceList.address(), list);
    }

    // man 3 ibv_get_device_guid: big-endian number
    long getDeviceGuid(long device) {
        return hostOrder(Downcalls.call(getDeviceGuid.address(), device), ByteOrder.nativeOrder());
    }

    /** Converts a number that is big-endian in memory and that a processor of order {@code order} has loaded. */
    static long hostOrder(long loaded, ByteOrder order) {
        return order == ByteOrder.BIG_ENDIAN ? loaded : Long.reverseBytes(loaded);
    }

    // man 3 ibv_open_device: pointer or NULL with errno
    long openDevice(long device) {
        return Downcalls.pointer(openDevice.address(), device);
    }

    // man 3 ibv_close_device: 0 or -1
    int closeDevice(long context) {
        return Downcalls.status(Downcalls.withErrno(closeDevice.address(), context));
    }

    // man 3 ibv_query_device: 0 or errno
    int queryDevice(long context, long attributes) {
        return Downcalls.status(Downcalls.withErrno(queryDevice.address(), context, attributes));
    }

    // man 3 ibv_query_port: 0 or errno; this symbol fills the first 48 bytes only
    int queryPort(long context, int port, long attributes) {
        return Downcalls.status(Downcalls.withErrno(queryPort.address(), context, port, attributes));
    }

    // man 3 ibv_query_gid: 0 or -1 with errno
    int queryGid(long context, int port, int index, long gid) {
        return Downcalls.status(Downcalls.withErrno(queryGid.address(), context, port, index, gid));
    }

    /** Returns whether this release has {@link #queryGidEx}. */
    boolean hasGidEntries() {
        return queryGidEx.isPresent();
    }

    // man 3 ibv_query_gid_ex: 0 or errno
    int queryGidEx(long context, int port, int index, long entry, long entrySize) {
        return Downcalls.status(Downcalls.withErrno(queryGidEx.address(), context, port, index, entry, 0, entrySize));
    }

    /** Returns whether this release has {@link #queryGidTable}. */
    boolean hasGidTable() {
        return queryGidTable.isPresent();
    }

    // man 3 ibv_query_gid_table: count or -errno
    int queryGidTable(long context, long entries, long maximum, long entrySize) {
        return (int) Downcalls.call(queryGidTable.address(), context, entries, maximum, 0, entrySize);
    }

    // man 3 ibv_query_pkey: 0 or -1 with errno; the key is big-endian
    int queryPkey(long context, int port, int index, long pkey) {
        return Downcalls.status(Downcalls.withErrno(queryPkey.address(), context, port, index, pkey));
    }

    // man 3 ibv_get_pkey_index: index or -1 with errno; the key is big-endian
    int getPkeyIndex(long context, int port, int bigEndianPkey) {
        return Downcalls.number(Downcalls.withErrno(getPkeyIndex.address(), context, port, bigEndianPkey));
    }

    // man 3 ibv_alloc_pd: pointer or NULL with errno
    long allocPd(long context) {
        return Downcalls.pointer(allocPd.address(), context);
    }

    // man 3 ibv_dealloc_pd: 0 or errno
    int deallocPd(long pd) {
        return Downcalls.status(Downcalls.withErrno(deallocPd.address(), pd));
    }

    // man 3 ibv_reg_mr: pointer or NULL with errno. The macro of verbs.h prefers ibv_reg_mr_iova2, which drops optional
    // access flags that an old kernel would refuse; and ibv_reg_mr takes no other address than that of the memory.
    long regMr(long pd, long address, long length, long iova, int access) {
        boolean isOwn = iova == ((access & IbvAccessFlags.IBV_ACCESS_ZERO_BASED) == 0 ? address : 0);
        if (regMrIova2.isPresent() || !isOwn) {
            return Downcalls.pointer(regMrIova2.address(), pd, address, length, iova, access);
        }
        return Downcalls.pointer(regMr.address(), pd, address, length, access);
    }

    // man 3 ibv_rereg_mr: 0, or an ibv_rereg_mr_err_code (below zero) with errno
    int reregMr(long mr, int flags, long pd, long address, long length, int access) {
        long answer = Downcalls.withErrno(reregMr.address(), mr, flags, pd, address, length, access);
        return (int) answer == 0 ? 0 : -Downcalls.errno(answer);
    }

    // man 3 ibv_dereg_mr: 0 or errno
    int deregMr(long mr) {
        return Downcalls.status(Downcalls.withErrno(deregMr.address(), mr));
    }

    // man 3 ibv_reg_mr: pointer or NULL with errno; ENOSYS if this release has no such call
    long regDmabufMr(long pd, long offset, long length, long iova, int fd, int access) {
        return regDmabufMr.isPresent()
                ? Downcalls.pointer(regDmabufMr.address(), pd, offset, length, iova, fd, access)
                : -Errno.ENOSYS;
    }

    // man 3 ibv_create_comp_channel: pointer or NULL with errno
    long createCompChannel(long context) {
        return Downcalls.pointer(createCompChannel.address(), context);
    }

    // man 3 ibv_destroy_comp_channel: 0 or errno (EBUSY while a CQ uses it)
    int destroyCompChannel(long channel) {
        return Downcalls.status(Downcalls.withErrno(destroyCompChannel.address(), channel));
    }

    // man 3 ibv_get_cq_event: 0 or -1 with errno (EAGAIN on a non-blocking channel)
    int getCqEvent(long channel, long cq, long cqContext) {
        return Downcalls.status(Downcalls.withErrno(getCqEvent.address(), channel, cq, cqContext));
    }

    // man 3 ibv_ack_cq_events: void
    void ackCqEvents(long cq, int count) {
        Downcalls.call(ackCqEvents.address(), cq, count);
    }

    // man 3 ibv_create_cq: pointer or NULL with errno
    long createCq(long context, int entries, long channel, int vector) {
        return Downcalls.pointer(createCq.address(), context, entries, 0, channel, vector);
    }

    // man 3 ibv_resize_cq: 0 or errno
    int resizeCq(long cq, int entries) {
        return Downcalls.status(Downcalls.withErrno(resizeCq.address(), cq, entries));
    }

    // man 3 ibv_destroy_cq: 0 or errno
    int destroyCq(long cq) {
        return Downcalls.status(Downcalls.withErrno(destroyCq.address(), cq));
    }

    // man 3 ibv_create_srq: pointer or NULL with errno
    long createSrq(long pd, long initAttributes) {
        return Downcalls.pointer(createSrq.address(), pd, initAttributes);
    }

    // man 3 ibv_modify_srq: 0 or errno
    int modifySrq(long srq, long attributes, int mask) {
        return Downcalls.status(Downcalls.withErrno(modifySrq.address(), srq, attributes, mask));
    }

    // man 3 ibv_query_srq: 0 or errno
    int querySrq(long srq, long attributes) {
        return Downcalls.status(Downcalls.withErrno(querySrq.address(), srq, attributes));
    }

    // man 3 ibv_destroy_srq: 0 or errno
    int destroySrq(long srq) {
        return Downcalls.status(Downcalls.withErrno(destroySrq.address(), srq));
    }

    // man 3 ibv_create_qp: pointer or NULL with errno
    long createQp(long pd, long initAttributes) {
        return Downcalls.pointer(createQp.address(), pd, initAttributes);
    }

    // man 3 ibv_modify_qp: 0 or errno
    int modifyQp(long qp, long attributes, int mask) {
        return Downcalls.status(Downcalls.withErrno(modifyQp.address(), qp, attributes, mask));
    }

    // man 3 ibv_query_qp: 0 or errno
    int queryQp(long qp, long attributes, int mask, long initAttributes) {
        return Downcalls.status(Downcalls.withErrno(queryQp.address(), qp, attributes, mask, initAttributes));
    }

    // man 3 ibv_destroy_qp: 0 or errno
    int destroyQp(long qp) {
        return Downcalls.status(Downcalls.withErrno(destroyQp.address(), qp));
    }

    // man 3 ibv_query_qp_data_in_order: 1 or 0; flags have to be 0
    boolean queryQpDataInOrder(long qp, int opcode) {
        return (int) Downcalls.call(queryQpDataInOrder.address(), qp, opcode, 0) == 1;
    }

    // man 3 ibv_qp_to_qp_ex: pointer, or NULL for a queue pair that was made without send_ops_flags
    long qpToQpEx(long qp) {
        return Downcalls.call(qpToQpEx.address(), qp);
    }

    // man 3 ibv_attach_mcast: 0 or errno
    int attachMcast(long qp, long gid, int lid) {
        return Downcalls.status(Downcalls.withErrno(attachMcast.address(), qp, gid, lid));
    }

    // man 3 ibv_detach_mcast: 0 or errno
    int detachMcast(long qp, long gid, int lid) {
        return Downcalls.status(Downcalls.withErrno(detachMcast.address(), qp, gid, lid));
    }

    // man 3 ibv_create_ah: pointer or NULL with errno
    long createAh(long pd, long attributes) {
        return Downcalls.pointer(createAh.address(), pd, attributes);
    }

    // man 3 ibv_init_ah_from_wc: 0 or -1 with errno
    int initAhFromWc(long context, int port, long completion, long grh, long attributes) {
        return Downcalls.status(
                Downcalls.withErrno(initAhFromWc.address(), context, port, completion, grh, attributes));
    }

    // man 3 ibv_destroy_ah: 0 or errno
    int destroyAh(long ah) {
        return Downcalls.status(Downcalls.withErrno(destroyAh.address(), ah));
    }

    // man 3 ibv_get_async_event: 0 or -1 with errno (EAGAIN on a non-blocking descriptor)
    int getAsyncEvent(long context, long event) {
        return Downcalls.status(Downcalls.withErrno(getAsyncEvent.address(), context, event));
    }

    // man 3 ibv_ack_async_event: void
    void ackAsyncEvent(long event) {
        Downcalls.call(ackAsyncEvent.address(), event);
    }

    // man 3 ibv_is_fork_initialized: enum ibv_fork_status
    int isForkInitialized() {
        return (int) Downcalls.call(isForkInitialized.address(), 0);
    }

    // man 3 ibv_fork_init: 0 or errno
    int forkInit() {
        return Downcalls.status(Downcalls.withErrno(forkInit.address(), 0));
    }

    /** Returns whether this release has {@link #getDeviceIndex}. */
    boolean hasDeviceIndex() {
        return getDeviceIndex.isPresent();
    }

    // man 3 ibv_get_device_index: the index, or -1 if there is none
    int getDeviceIndex(long device) {
        return (int) Downcalls.call(getDeviceIndex.address(), device);
    }

    // no man page; verbs.c: 0, -1 with errno, or a negative errno
    int resolveEthL2FromGid(long context, long address, long mac, long vlan) {
        return Downcalls.status(Downcalls.withErrno(resolveEthL2FromGid.address(), context, address, mac, vlan));
    }

    // man 3 ibv_import_device: pointer or NULL with errno
    long importDevice(int commandDescriptor) {
        return importDevice.isPresent()
                ? Downcalls.pointer(importDevice.address(), commandDescriptor)
                : -Errno.ENOSYS;
    }
}
