package org.kverbs.spi;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import org.kverbs.internal.abi.Errno;

/**
 * An open device ({@code struct ibv_context}). It creates, modifies, queries and destroys the objects of the device.
 *
 * <p>A negative result is {@code -errno}. A call that creates an object otherwise returns the address of its C
 * structure. The names in parentheses are the C calls, whose man pages define the semantics.
 */
public interface VerbsContext {

    /** Returns the number of completion vectors ({@code num_comp_vectors}). */
    int completionVectors();

    /**
     * Returns the address of the device's {@code struct ibv_context} in libibverbs; 0 if libibverbs does not know the
     * device. If it does, the addresses of all objects of this context are those of libibverbs.
     */
    default long nativeAddress() {
        return 0;
    }

    /** Closes the device ({@code ibv_close_device}). The caller has destroyed all its objects before. */
    int close();

    /**
     * Returns whether the device, its driver and the installed library have a call that not every device has.
     *
     * @param verb the C function: {@code ibv_modify_cq}
     */
    default boolean has(String verb) {
        return false;
    }

    // Groups of calls that not every device has

    /** Returns the calls that read the device's clock. */
    default ClockVerbs clock() {
        return ClockVerbs.NONE;
    }

    /** Returns the calls that make thread domains and parent domains. */
    default DomainVerbs domains() {
        return DomainVerbs.NONE;
    }

    /** Returns the calls for the vendor's options of queue pairs. */
    default EceVerbs ece() {
        return EceVerbs.NONE;
    }

    /** Returns the calls that limit the sending rate of queue pairs. */
    default PacingVerbs pacing() {
        return PacingVerbs.NONE;
    }

    /** Returns further questions about ports. */
    default PortVerbs ports() {
        return PortVerbs.NONE;
    }

    /** Returns the flow rules of the device. */
    default FlowVerbs flows() {
        return FlowVerbs.NONE;
    }

    /** Returns the actions of flow rules. */
    default FlowActionVerbs flowActions() {
        return FlowActionVerbs.NONE;
    }

    /** Returns the counters of flow rules. */
    default CounterVerbs flowCounters() {
        return CounterVerbs.NONE;
    }

    /** Returns what modules that know the device's driver need. */
    default DriverVerbs driver() {
        return DriverVerbs.NONE;
    }

    /** Returns the work queues of the device, and the tables of them. */
    default WorkQueueVerbs workQueues() {
        return WorkQueueVerbs.NONE;
    }

    /** Returns the completion counters of the device. */
    default CompletionCounterVerbs completionCounters() {
        return CompletionCounterVerbs.NONE;
    }

    /** Returns the calls that share objects with other contexts. */
    default ImportVerbs imports() {
        return ImportVerbs.NONE;
    }

    // Queries

    /** Fills {@code struct ibv_device_attr} ({@code ibv_query_device}). */
    int queryDevice(MemorySegment attributes);

    /** Fills {@code struct ibv_device_attr_ex}, up to the size of the segment ({@code ibv_query_device_ex}). */
    int queryDeviceEx(MemorySegment attributes);

    /** Fills {@code struct ibv_port_attr}, up to the size of the segment ({@code ibv_query_port}). */
    int queryPort(int port, MemorySegment attributes);

    /** Fills {@code union ibv_gid} in network order ({@code ibv_query_gid}). */
    int queryGid(int port, int index, MemorySegment gid);

    /** Fills {@code struct ibv_gid_entry} ({@code ibv_query_gid_ex}). */
    int queryGidEntry(int port, int index, MemorySegment entry);

    /**
     * Fills an array of {@code struct ibv_gid_entry} with the valid entries of all ports ({@code ibv_query_gid_table}).
     *
     * @return the number of entries, or -errno (EINVAL if the array is too small)
     */
    int queryGidTable(MemorySegment entries);

    /** Returns the P_Key at an index in host order, or -errno ({@code ibv_query_pkey}). */
    int queryPkey(int port, int index);

    /** Returns the index of a P_Key that is given in host order, or -errno ({@code ibv_get_pkey_index}). */
    int pkeyIndex(int port, int pkey);

    // Protection domains, memory

    /** Makes a protection domain, {@code struct ibv_pd} ({@code ibv_alloc_pd}). */
    long allocPd();

    /** Destroys a protection domain ({@code ibv_dealloc_pd}). */
    int deallocPd(long pd);

    /** Registers {@code length} bytes at {@code address} as a {@code struct ibv_mr} ({@code ibv_reg_mr_iova2}). */
    long registerMemory(long pd, long address, long length, long iova, int access);

    /** Changes a region by {@code enum ibv_rereg_mr_flags} ({@code ibv_rereg_mr}). */
    int reregisterMemory(long mr, int flags, long pd, long address, long length, int access);

    /**
     * Registers the memory of a segment; see {@link #registerMemory(long, long, long, long, int)}. A provider in Java
     * can check the scope of the segment and so notice that the program freed the memory.
     */
    default long registerMemory(long pd, MemorySegment memory, long iova, int access) {
        return registerMemory(pd, memory.address(), memory.byteSize(), iova, access);
    }

    /** Changes a region to the memory of a segment; see {@link #reregisterMemory(long, int, long, long, long, int)}. */
    default int reregisterMemory(long mr, int flags, long pd, MemorySegment memory, int access) {
        return reregisterMemory(mr, flags, pd, memory.address(), memory.byteSize(), access);
    }

    /** Deregisters a region ({@code ibv_dereg_mr}). */
    int deregisterMemory(long mr);

    /** Makes a memory window, {@code struct ibv_mw} ({@code ibv_alloc_mw}). */
    long allocMemoryWindow(long pd, int type);

    /**
     * Binds a type 1 window by {@code struct ibv_mw_bind} and writes the new key into the window ({@code ibv_bind_mw}).
     */
    int bindMemoryWindow(long qp, long mw, MemorySegment bind);

    /** Destroys a memory window ({@code ibv_dealloc_mw}). */
    int deallocMemoryWindow(long mw);

    /** Returns the calls for memory that not every device has. */
    default OptionalMemoryVerbs optionalMemory() {
        return OptionalMemoryVerbs.NONE;
    }

    // Completions

    /** Makes a completion channel, {@code struct ibv_comp_channel} ({@code ibv_create_comp_channel}). */
    long createCompletionChannel();

    /** Destroys a completion channel ({@code ibv_destroy_comp_channel}). */
    int destroyCompletionChannel(long channel);

    /**
     * Returns a file descriptor that is readable while an event is pending, or -1 if the provider has none. Only the
     * provider may read from it.
     */
    int completionChannelFd(long channel);

    /**
     * Waits for a completion event ({@code ibv_get_cq_event}).
     *
     * @param timeoutNanos how long to wait; 0 checks once, a negative number waits without limit
     * @return the {@code struct ibv_cq *}; 0 if the time ran out or {@link #interruptCompletionChannel} or {@link
     *     #wakeCompletionChannel} was called; or -errno
     */
    long awaitCompletionEvent(long channel, long timeoutNanos);

    /** Makes the current wait on the channel return 0, or else the next one. */
    void interruptCompletionChannel(long channel);

    /** Ends all current and future waits on the channel. The caller calls this before it destroys the channel. */
    void wakeCompletionChannel(long channel);

    /** Makes a completion queue, {@code struct ibv_cq}; channel 0 stands for none ({@code ibv_create_cq}). */
    long createCompletionQueue(int entries, long channel, int vector);

    /**
     * Makes an extended completion queue by {@code struct ibv_cq_init_attr_ex} ({@code ibv_create_cq_ex}). Its {@code
     * struct ibv_cq_ex} is also a {@code struct ibv_cq}.
     */
    long createCompletionQueueEx(MemorySegment initAttributes);

    /** Changes the size of a completion queue ({@code ibv_resize_cq}). */
    int resizeCompletionQueue(long cq, int entries);

    /** Changes a completion queue by {@code struct ibv_modify_cq_attr} ({@code ibv_modify_cq}). */
    default int modifyCompletionQueue(long cq, MemorySegment attributes) {
        return -Errno.EOPNOTSUPP;
    }

    /** Destroys a completion queue ({@code ibv_destroy_cq}). The caller has acknowledged all its events before. */
    int destroyCompletionQueue(long cq);

    /** Acknowledges events of a completion queue ({@code ibv_ack_cq_events}). */
    void ackCompletionEvents(long cq, int count);

    /** Returns the data path of a completion queue. */
    CompletionQueueOps completionQueueOps(long cq);

    /**
     * Returns the data path of a queue made by {@link #createCompletionQueueEx}: {@code ibv_start_poll} and related
     * calls.
     *
     * @param fields the {@code wc_flags} that the queue was made with
     */
    CompletionQueueOps extendedCompletionQueueOps(long cq, int fields);

    // Parts that not every device has

    /** Returns the calls for extended reliable connections (XRC). */
    default XrcVerbs xrc() {
        return XrcVerbs.NONE;
    }

    /** Returns the calls for tag matching. */
    default TagVerbs tags() {
        return TagVerbs.NONE;
    }

    // Shared receive queues

    /**
     * Makes a shared receive queue, {@code struct ibv_srq}, by {@code struct ibv_srq_init_attr} ({@code
     * ibv_create_srq}).
     */
    long createSharedReceiveQueue(long pd, MemorySegment initAttributes);

    /** Changes a shared receive queue by {@code struct ibv_srq_attr} ({@code ibv_modify_srq}). */
    int modifySharedReceiveQueue(long srq, MemorySegment attributes, int mask);

    /** Fills {@code struct ibv_srq_attr} ({@code ibv_query_srq}). */
    int querySharedReceiveQueue(long srq, MemorySegment attributes);

    /** Destroys a shared receive queue ({@code ibv_destroy_srq}). */
    int destroySharedReceiveQueue(long srq);

    /** Returns the data path of a shared receive queue. */
    ReceiveOps sharedReceiveQueueOps(long srq);

    // Queue pairs

    /**
     * Makes a queue pair, {@code struct ibv_qp}, by {@code struct ibv_qp_init_attr} and updates its {@code cap} ({@code
     * ibv_create_qp}).
     */
    long createQueuePair(long pd, MemorySegment initAttributes);

    /**
     * Makes a queue pair by {@code struct ibv_qp_init_attr_ex} and updates its {@code cap} ({@code ibv_create_qp_ex}).
     */
    long createQueuePairEx(MemorySegment initAttributes);

    /** Changes a queue pair by {@code struct ibv_qp_attr} ({@code ibv_modify_qp}). */
    int modifyQueuePair(long qp, MemorySegment attributes, int mask);

    /** Fills both structures ({@code ibv_query_qp}). */
    int queryQueuePair(long qp, MemorySegment attributes, int mask, MemorySegment initAttributes);

    /** Destroys a queue pair ({@code ibv_destroy_qp}). */
    int destroyQueuePair(long qp);

    /** Returns the data path of a queue pair. */
    QueuePairOps queuePairOps(long qp);

    /**
     * Returns the data path of a queue pair made by {@link #createQueuePairEx}, which posts sends by {@code
     * ibv_wr_start} and related calls. It posts a whole list or none. If the queue is full, it names the first request
     * as the refused one.
     *
     * @param maxSendSge the limit that the device gave in {@code cap}
     * @param maxInlineData the limit that the device gave in {@code cap}
     * @param operations which of IBV_QP_EX_WITH_ATOMIC_WRITE and IBV_QP_EX_WITH_FLUSH the queue pair was made with. The
     *     caller posts no other atomic writes and flushes: an older {@code struct ibv_qp_ex} has no functions for them
     */
    QueuePairOps extendedQueuePairOps(long qp, int maxSendSge, int maxInlineData, int operations);

    /**
     * Returns the counters of a queue pair by the names of {@link VerbsDevice#counters}; empty if the device has none.
     */
    default Map<String, Long> queuePairCounters(long qp) {
        return Map.of();
    }

    /**
     * Returns 1 if the data of an operation of {@code enum ibv_wr_opcode} arrives in order, otherwise 0 ({@code
     * ibv_query_qp_data_in_order}).
     */
    int queryDataInOrder(long qp, int opcode);

    /** Attaches a queue pair to a multicast group; {@code gid} is {@code union ibv_gid} ({@code ibv_attach_mcast}). */
    int attachMulticast(long qp, MemorySegment gid, int lid);

    /** Detaches a queue pair from a multicast group ({@code ibv_detach_mcast}). */
    int detachMulticast(long qp, MemorySegment gid, int lid);

    // Address handles

    /** Makes an address handle, {@code struct ibv_ah}, by {@code struct ibv_ah_attr} ({@code ibv_create_ah}). */
    long createAddressHandle(long pd, MemorySegment attributes);

    /**
     * Fills {@code struct ibv_ah_attr} from {@code struct ibv_wc} and {@code struct ibv_grh}
     * ({@code ibv_init_ah_from_wc}).
     */
    int addressFromCompletion(int port, MemorySegment completion, MemorySegment grh, MemorySegment attributes);

    /** Destroys an address handle ({@code ibv_destroy_ah}). */
    int destroyAddressHandle(long ah);

    // Asynchronous events

    /**
     * Returns a file descriptor that is readable while an asynchronous event is pending, or -1 if the provider has
     * none. Only the provider may read from it.
     */
    int asyncEventFd();

    /**
     * Waits for an asynchronous event and fills {@code struct ibv_async_event} ({@code ibv_get_async_event}).
     *
     * @param timeoutNanos how long to wait; 0 checks once, a negative number waits without limit
     * @return 1 if there is an event; 0 if the time ran out or {@link #wakeAsyncEvents} was called; or -errno
     */
    int awaitAsyncEvent(MemorySegment event, long timeoutNanos);

    /** Acknowledges an event that {@link #awaitAsyncEvent} returned ({@code ibv_ack_async_event}). */
    void ackAsyncEvent(MemorySegment event);

    /** Ends all current and future waits for asynchronous events. The caller calls this before it closes the device. */
    void wakeAsyncEvents();
}
