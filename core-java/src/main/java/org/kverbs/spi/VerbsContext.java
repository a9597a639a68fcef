package org.kverbs.spi;

import java.lang.foreign.MemorySegment;
import java.util.Map;

/**
 * An open device ({@code struct ibv_context}): creation, modification, query and destruction of what is made from it.
 *
 * <p>Results below zero are {@code -errno}; creating calls otherwise give the address of the new object's C structure.
 * The names in parentheses are the C calls with the man pages that state the semantics.
 */
public interface VerbsContext {

    /** How many completion vectors there are ({@code num_comp_vectors}). */
    int completionVectors();

    /** Closes the device ({@code ibv_close_device}). Everything made from it has been destroyed before. */
    int close();

    // Queries

    /** Fills {@code struct ibv_device_attr} ({@code ibv_query_device}). */
    int queryDevice(MemorySegment attributes);

    /** Fills {@code struct ibv_device_attr_ex}, as much of it as the segment holds ({@code ibv_query_device_ex}). */
    int queryDeviceEx(MemorySegment attributes);

    /** Fills {@code struct ibv_port_attr}, as much of it as the segment holds ({@code ibv_query_port}). */
    int queryPort(int port, MemorySegment attributes);

    /** Fills {@code union ibv_gid}, network order ({@code ibv_query_gid}). */
    int queryGid(int port, int index, MemorySegment gid);

    /** Fills {@code struct ibv_gid_entry} ({@code ibv_query_gid_ex}). */
    int queryGidEntry(int port, int index, MemorySegment entry);

    /**
     * Fills an array of {@code struct ibv_gid_entry} with the valid entries of all ports ({@code ibv_query_gid_table}).
     *
     * @return how many there are, or -errno (EINVAL if the array is too small)
     */
    int queryGidTable(MemorySegment entries);

    /** The P_Key at an index, host order, or -errno ({@code ibv_query_pkey}). */
    int queryPkey(int port, int index);

    /** The index of a P_Key given in host order, or -errno ({@code ibv_get_pkey_index}). */
    int pkeyIndex(int port, int pkey);

    // Protection domains, memory

    /** {@code struct ibv_pd *} ({@code ibv_alloc_pd}). */
    long allocPd();

    /** {@code ibv_dealloc_pd}. */
    int deallocPd(long pd);

    /** {@code struct ibv_mr *} of {@code length} bytes at {@code address} ({@code ibv_reg_mr_iova2}). */
    long registerMemory(long pd, long address, long length, long iova, int access);

    /** Changes a region ({@code ibv_rereg_mr}), by {@code enum ibv_rereg_mr_flags}. */
    int reregisterMemory(long mr, int flags, long pd, long address, long length, int access);

    /**
     * {@link #registerMemory(long, long, long, long, int)} of a segment, whose scope a provider in Java may look at:
     * it sees that the program freed the memory.
     */
    default long registerMemory(long pd, MemorySegment memory, long iova, int access) {
        return registerMemory(pd, memory.address(), memory.byteSize(), iova, access);
    }

    /** {@link #reregisterMemory(long, int, long, long, long, int)} of a segment. */
    default int reregisterMemory(long mr, int flags, long pd, MemorySegment memory, int access) {
        return reregisterMemory(mr, flags, pd, memory.address(), memory.byteSize(), access);
    }

    /** {@code ibv_dereg_mr}. */
    int deregisterMemory(long mr);

    /** {@code struct ibv_mw *} ({@code ibv_alloc_mw}). */
    long allocMemoryWindow(long pd, int type);

    /** Binds a type 1 window ({@code ibv_bind_mw}) by {@code struct ibv_mw_bind}; the new key stands in the window. */
    int bindMemoryWindow(long qp, long mw, MemorySegment bind);

    /** {@code ibv_dealloc_mw}. */
    int deallocMemoryWindow(long mw);

    // Completions

    /** {@code struct ibv_comp_channel *} ({@code ibv_create_comp_channel}). */
    long createCompletionChannel();

    /** {@code ibv_destroy_comp_channel}. */
    int destroyCompletionChannel(long channel);

    /** A file descriptor that is readable when an event waits, or -1 if the provider has none. Never read it. */
    int completionChannelFd(long channel);

    /**
     * Waits for a completion event ({@code ibv_get_cq_event}).
     *
     * @param timeoutNanos 0 looks once; below zero waits without limit
     * @return the {@code struct ibv_cq *}; 0 if the time ran out or {@link #interruptCompletionChannel} or
     *     {@link #wakeCompletionChannel} was called; or -errno
     */
    long awaitCompletionEvent(long channel, long timeoutNanos);

    /** Ends the wait on the channel that is under way, or else the next one, with 0. */
    void interruptCompletionChannel(long channel);

    /** Ends every wait on the channel, now and from now on; it is called before the channel is destroyed. */
    void wakeCompletionChannel(long channel);

    /** {@code struct ibv_cq *} ({@code ibv_create_cq}); channel 0 is none. */
    long createCompletionQueue(int entries, long channel, int vector);

    /**
     * {@code struct ibv_cq_ex *} by {@code struct ibv_cq_init_attr_ex} ({@code ibv_create_cq_ex}); it is a
     * {@code struct ibv_cq}, too.
     */
    long createCompletionQueueEx(MemorySegment initAttributes);

    /** {@code ibv_resize_cq}. */
    int resizeCompletionQueue(long cq, int entries);

    /** {@code ibv_destroy_cq}; every event got from the channel has been acknowledged before. */
    int destroyCompletionQueue(long cq);

    /** {@code ibv_ack_cq_events}. */
    void ackCompletionEvents(long cq, int count);

    /** The data path of a completion queue. */
    CompletionQueueOps completionQueueOps(long cq);

    /** The data path of one made by {@link #createCompletionQueueEx}: by {@code ibv_start_poll} and its like. */
    CompletionQueueOps extendedCompletionQueueOps(long cq);

    // Shared receive queues

    /** {@code struct ibv_srq *} by {@code struct ibv_srq_init_attr} ({@code ibv_create_srq}). */
    long createSharedReceiveQueue(long pd, MemorySegment initAttributes);

    /** By {@code struct ibv_srq_attr} ({@code ibv_modify_srq}). */
    int modifySharedReceiveQueue(long srq, MemorySegment attributes, int mask);

    /** Fills {@code struct ibv_srq_attr} ({@code ibv_query_srq}). */
    int querySharedReceiveQueue(long srq, MemorySegment attributes);

    /** {@code ibv_destroy_srq}. */
    int destroySharedReceiveQueue(long srq);

    /** The data path of a shared receive queue. */
    ReceiveOps sharedReceiveQueueOps(long srq);

    // Queue pairs

    /**
     * {@code struct ibv_qp *} by {@code struct ibv_qp_init_attr}, whose {@code cap} is updated ({@code ibv_create_qp}).
     */
    long createQueuePair(long pd, MemorySegment initAttributes);

    /**
     * {@code struct ibv_qp *} by {@code struct ibv_qp_init_attr_ex}, whose {@code cap} is updated
     * ({@code ibv_create_qp_ex}).
     */
    long createQueuePairEx(MemorySegment initAttributes);

    /** By {@code struct ibv_qp_attr} ({@code ibv_modify_qp}). */
    int modifyQueuePair(long qp, MemorySegment attributes, int mask);

    /** Fills both structures ({@code ibv_query_qp}). */
    int queryQueuePair(long qp, MemorySegment attributes, int mask, MemorySegment initAttributes);

    /** {@code ibv_destroy_qp}. */
    int destroyQueuePair(long qp);

    /** The data path of a queue pair. */
    QueuePairOps queuePairOps(long qp);

    /**
     * The data path of one made by {@link #createQueuePairEx}: sends are posted by {@code ibv_wr_start} and its like,
     * all of a list or none; when the queue is full, the first is named as the refused one.
     *
     * @param maxSendSge as the device gave it, in {@code cap}; the other, too
     */
    QueuePairOps extendedQueuePairOps(long qp, int maxSendSge, int maxInlineData);

    /** What a queue pair has counted, by name as {@link VerbsDevice#counters}; empty if the device doesn't say. */
    default Map<String, Long> queuePairCounters(long qp) {
        return Map.of();
    }

    /**
     * 1 if data of an operation of {@code enum ibv_wr_opcode} arrives in order, 0 if not
     * ({@code ibv_query_qp_data_in_order}).
     */
    int queryDataInOrder(long qp, int opcode);

    /** Joins a multicast group's traffic ({@code ibv_attach_mcast}); gid is {@code union ibv_gid}. */
    int attachMulticast(long qp, MemorySegment gid, int lid);

    /** {@code ibv_detach_mcast}. */
    int detachMulticast(long qp, MemorySegment gid, int lid);

    // Address handles

    /** {@code struct ibv_ah *} by {@code struct ibv_ah_attr} ({@code ibv_create_ah}). */
    long createAddressHandle(long pd, MemorySegment attributes);

    /**
     * Fills {@code struct ibv_ah_attr} from {@code struct ibv_wc} and {@code struct ibv_grh}
     * ({@code ibv_init_ah_from_wc}).
     */
    int addressFromCompletion(int port, MemorySegment completion, MemorySegment grh, MemorySegment attributes);

    /** {@code ibv_destroy_ah}. */
    int destroyAddressHandle(long ah);

    // Asynchronous events

    /**
     * A file descriptor that is readable when an asynchronous event waits, or -1 if the provider has none. Never read
     * it.
     */
    int asyncEventFd();

    /**
     * Waits for an asynchronous event and fills {@code struct ibv_async_event} ({@code ibv_get_async_event}).
     *
     * @param timeoutNanos 0 looks once; below zero waits without limit
     * @return 1 if there is one; 0 if the time ran out or {@link #wakeAsyncEvents} was called; or -errno
     */
    int awaitAsyncEvent(MemorySegment event, long timeoutNanos);

    /** Acknowledges an event that {@link #awaitAsyncEvent} gave ({@code ibv_ack_async_event}). */
    void ackAsyncEvent(MemorySegment event);

    /** Ends every wait for asynchronous events, now and from now on; it is called before the device is closed. */
    void wakeAsyncEvents();
}
