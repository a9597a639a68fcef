package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.AccessFlag;
import org.kverbs.attributes.AddressAttributes;
import org.kverbs.attributes.Feature;
import org.kverbs.attributes.MemoryAdvice;
import org.kverbs.attributes.MemoryWindowType;
import org.kverbs.attributes.SharedReceiveQueueAttributes;
import org.kverbs.attributes.WorkQueueState;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.Structures;
import org.kverbs.internal.abi.IbvParentDomainInitAttr;
import org.kverbs.internal.abi.IbvPd;
import org.kverbs.internal.memory.Memory;
import org.kverbs.internal.values.Ranges;
import org.kverbs.spi.DriverQueuePairs;

/**
 * A protection domain ({@code struct ibv_pd}). A queue pair can use only memory regions, memory windows and address
 * handles of its own domain. A {@link #parentDomain parent domain} is the same domain for this rule, and makes objects
 * in another way.
 *
 * <p>Safe for any thread. Source: {@code man 3 ibv_alloc_pd}, {@code ibv_alloc_parent_domain}.
 */
public final class ProtectionDomain extends Resource {

    private static final long PAGE = 4096;

    private final Context context;
    private final @Nullable ProtectionDomain parent;
    private final @Nullable ThreadDomain threadDomain;
    private final @Nullable Arena callbacks;
    private final long handle;
    /** True if another context made the domain, which then outlives this object. */
    private final boolean isImported;
    /** The number of the domain at the kernel, which an import has from its exporter. */
    private final int kernelNumber;

    ProtectionDomain(Context context, long handle) {
        this(context, null, null, null, handle, false, context.lifetime);
    }

    static ProtectionDomain imported(Context context, long handle) {
        return new ProtectionDomain(context, null, null, null, handle, true, context.lifetime);
    }

    /**
     * Wraps a parent domain.
     *
     * @param callbacks where the functions of its allocator are, which are freed after the domain; null for none
     */
    static ProtectionDomain ofParent(
            ProtectionDomain parent, @Nullable ThreadDomain threads, @Nullable Arena callbacks, long handle) {
        Lifetime[] madeFrom = threads == null
                ? new Lifetime[] {parent.lifetime} : new Lifetime[] {parent.lifetime, threads.lifetime};
        return new ProtectionDomain(parent.context, parent, threads, callbacks, handle, false, madeFrom);
    }

    private ProtectionDomain(
            Context context,
            @Nullable ProtectionDomain parent,
            @Nullable ThreadDomain threadDomain,
            @Nullable Arena callbacks,
            long handle,
            boolean isImported,
            Lifetime... madeFrom) {
        super(new Lifetime(Turn.FOUNDATIONS, madeFrom));
        this.context = context;
        this.parent = parent;
        this.threadDomain = threadDomain;
        this.callbacks = callbacks;
        this.handle = handle;
        this.isImported = isImported;
        this.kernelNumber = Memory.getInt(handle + IbvPd.HANDLE);
        lifetime.begin(this, Ending.of(this::describe, this::destroy));
    }

    /**
     * Makes a parent domain ({@code ibv_alloc_parent_domain}): this protection domain with a thread domain. It can be
     * used wherever a protection domain can, and memory, windows and address handles of one can be used by the queue
     * pairs of the other. What is made in it belongs to the thread domain, too. A parent domain of a parent domain has
     * only its own thread domain: in C it is made from the domain at the root, as drivers differ in the other.
     *
     * @throws IllegalArgumentException if the thread domain belongs to another context
     * @throws UnsupportedVerbException if the device has no parent domains
     */
    public ProtectionDomain parentDomain(ThreadDomain threads) {
        return ParentDomains.make(this, threads, null);
    }

    /**
     * Makes a parent domain without a thread domain. Completion queues take one ({@link
     * CompletionQueueOptions#parentDomain}).
     *
     * @throws UnsupportedVerbException if the device has no parent domains
     */
    public ProtectionDomain parentDomain() {
        return ParentDomains.make(this, null, null);
    }

    /**
     * Makes a parent domain whose queues get their memory from an allocator of the program
     * (IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS).
     *
     * @throws UnsupportedVerbException if the device has no parent domains, or does not have
     *     {@link Feature#DOMAIN_ALLOCATOR}
     */
    public ProtectionDomain parentDomain(DomainAllocator allocator) {
        return ParentDomains.make(this, null, allocator);
    }

    /**
     * The same with a thread domain; see {@link #parentDomain(ThreadDomain)}.
     *
     * @throws IllegalArgumentException if the thread domain belongs to another context
     * @throws UnsupportedVerbException as {@link #parentDomain(DomainAllocator)}
     */
    public ProtectionDomain parentDomain(ThreadDomain threads, DomainAllocator allocator) {
        return ParentDomains.make(this, threads, allocator);
    }

    /** Returns the protection domain that this parent domain was made from, or null if this is no parent domain. */
    public @Nullable ProtectionDomain parent() {
        return parent;
    }

    /** Returns the thread domain of this parent domain, or null if it has none. */
    public @Nullable ThreadDomain threadDomain() {
        return threadDomain;
    }

    /**
     * Returns whether a queue pair of this domain can use memory regions, memory windows and address handles of the
     * other: if the two are the same domain, if parent domains lead to the same domain, or if the two are open imports
     * of one domain into the same context. Domains of different contexts are strangers here, also if one is an import
     * of the other: a context does not know whom it was imported from.
     */
    public boolean sharesMemoryWith(ProtectionDomain other) {
        ProtectionDomain mine = root();
        ProtectionDomain theirs = other.root();
        return mine == theirs || mine.isSameImport(theirs);
    }

    /** Numbers of domains are unique within a context, as long as the domains are open. */
    private boolean isSameImport(ProtectionDomain other) {
        return isImported
                && other.isImported
                && context == other.context
                && kernelNumber == other.kernelNumber
                && isOpen()
                && other.isOpen();
    }

    ProtectionDomain root() {
        ProtectionDomain domain = this;
        while (domain.parent != null) {
            domain = domain.parent;
        }
        return domain;
    }

    /** Returns the open device that this domain belongs to. */
    public Context context() {
        return context;
    }

    long handle() {
        return handle;
    }

    /**
     * Returns the kernel's number of this protection domain. A context that was imported from this one finds it by the
     * number: see {@link Context#importProtectionDomain}.
     *
     * @throws IllegalStateException if the domain is closed
     */
    public int kernelHandle() {
        lifetime.enter();
        try {
            return Memory.getInt(handle + IbvPd.HANDLE);
        } finally {
            lifetime.exit();
        }
    }

    /**
     * Imports a region of another context into this domain ({@code ibv_import_mr}). The region stays the exporter's:
     * closing this object frees only the import ({@code ibv_unimport_mr}), and the exporter closes the region after its
     * last use here. A request that uses a region which the exporter has closed completes with an error.
     *
     * <p>The region has keys and a length, but no memory of its own: {@link MemoryRegion#hasMemory} is false. Its
     * {@link MemoryRegion#access} is empty, because the device does not tell the rights.
     *
     * @param kernelHandle {@link MemoryRegion#kernelHandle} of the exporter's region
     * @param requestAddress the address of its first byte in work requests: {@code remote().address()} of the
     *     exporter's region
     * @throws UnsupportedVerbException if the device does not have {@code Feature.IMPORT}
     * @throws RdmaSystemException ENOENT, EINVAL or another errno if there is no such region
     */
    public MemoryRegion importRegion(int kernelHandle, long requestAddress) {
        return Imports.region(this, kernelHandle, requestAddress);
    }

    @Override
    protected long nativeAddress() {
        return context.nativeAddress(handle);
    }

    /**
     * Allocates zeroed, page-aligned off-heap memory and registers it ({@code ibv_reg_mr}). The region owns the memory.
     * Closing the region frees it; a later access throws IllegalStateException.
     *
     * @param length the number of bytes
     * @param access the rights of the device and of peers; without any, the device may only read
     * @throws RdmaSystemException if the device refuses; for ENOMEM the message names the memlock limit
     */
    public MemoryRegion memoryRegion(long length, AccessFlag... access) {
        Arena arena = Arena.ofShared();
        try {
            return register(arena.allocate(Ranges.require("length", length, 1, Long.MAX_VALUE), PAGE), null, arena,
                    access);
        } catch (Throwable e) {
            arena.close();
            throw e;
        }
    }

    /**
     * Registers off-heap memory of the caller ({@code ibv_reg_mr}). The region keeps the segment reachable, so memory
     * of an automatic arena lives as long as the region. Close any other arena only after the region.
     *
     * <p>Without {@link AccessFlag#ON_DEMAND} an embedded device cannot detect unmapped memory: it refuses only
     * addresses below 64 KiB. A NIC reports EFAULT at registration; with an embedded device the JVM crashes when a
     * message touches an unmapped page. An embedded device does notice an arena that was closed before the region:
     * requests that need the memory fail.
     *
     * @throws IllegalArgumentException if the segment is on the Java heap, where the garbage collector moves it
     * @throws IllegalStateException if the arena of the memory is closed
     * @throws RdmaSystemException if the device refuses, such as EFAULT for memory that is not mapped
     */
    public MemoryRegion register(MemorySegment memory, AccessFlag... access) {
        return register(memory, null, null, access);
    }

    /**
     * Registers the bytes of a direct buffer between its position and its limit; see {@link #register(MemorySegment,
     * AccessFlag...)}.
     */
    public MemoryRegion register(ByteBuffer buffer, AccessFlag... access) {
        return register(MemorySegment.ofBuffer(buffer), null, null, access);
    }

    /**
     * Registers memory at an address of the caller's choice for the work requests of both sides ({@code
     * ibv_reg_mr_iova2}).
     *
     * @param iova the address of the first byte in work requests; its offset within a page must be that of the memory
     * @throws LibraryUnavailableException if the installed libibverbs is older than rdma-core 28 and cannot use another
     *     address
     */
    public MemoryRegion registerAt(long iova, MemorySegment memory, AccessFlag... access) {
        return register(memory, iova, null, access);
    }

    private MemoryRegion register(MemorySegment memory, @Nullable Long iova, @Nullable Arena owned,
            AccessFlag... access) {
        MemoryRegion.requireRegistrable(memory);
        int mask = AccessFlag.mask(access);
        AccessFlags.requireConsistent(mask);
        long requestAddress = iova == null ? MemoryRegion.requestAddress(memory, mask) : iova;
        String operation = "ibv_reg_mr(%s, addr=0x%x, length=%d, access=%s)"
                .formatted(context.device().name(), memory.address(), memory.byteSize(), AccessFlag.of(mask));
        return create(
                OptionalRegions.onDemand(this, mask, operation, () -> context.limits.excess((excess, limits) ->
                        excess.of("length", memory.byteSize(), "max_mr_size", limits.maxMrSize())), false),
                () -> context.verbs.registerMemory(handle, memory, requestAddress, mask),
                h -> new MemoryRegion(this, h, memory, requestAddress, mask, owned),
                this);
    }

    /**
     * Makes a region without memory ({@code ibv_alloc_null_mr}). An entry of it in a send gives zeros, and what a
     * receive or a read puts there is dropped: in a list of entries it skips bytes that nobody needs. Peers cannot use
     * it. It has no end, so that {@link MemoryRegion#slice(long, long)} takes any offset.
     *
     * @throws UnsupportedVerbException if the device does not have {@code Feature.NULL_REGION}
     */
    public MemoryRegion nullRegion() {
        return OptionalRegions.nullRegion(this);
    }

    /**
     * Registers the whole address space of this process ({@code ibv_reg_mr}, address 0, length SIZE_MAX, with {@link
     * AccessFlag#ON_DEMAND}). The device uses any off-heap memory through it without a registration for each: {@link
     * MemoryRegion#slice(MemorySegment)} and {@link MemoryRegion#remote(MemorySegment)} name it. No page is pinned.
     *
     * <p>With a right of the peer, a network card gives the peer all memory of the JVM, and a wrong address damages the
     * JVM. An embedded device uses only memory that one of the two functions named before, and refuses any other
     * address as if no memory were there; it also refuses memory whose arena was closed.
     *
     * @param access the rights; ON_DEMAND is added
     * @throws UnsupportedVerbException if the device has no implicit regions:
     *     {@code DeviceAttributesEx.onDemandPaging().isImplicitSupported()}
     */
    public MemoryRegion implicitRegion(AccessFlag... access) {
        return OptionalRegions.implicitRegion(this, AccessFlag.mask(access));
    }

    /**
     * Registers all of a device memory ({@code ibv_reg_dm_mr}). Addresses in work requests of both sides count from 0
     * at the start of the region, as {@link AccessFlag#ZERO_BASED}, which is added.
     *
     * @throws IllegalArgumentException if the memory belongs to another context
     * @throws RdmaSystemException if the device refuses; EINVAL for other rights than those of local writes and of
     *     peers
     */
    public MemoryRegion register(DeviceMemory memory, AccessFlag... access) {
        return register(memory, 0, memory.length(), access);
    }

    /**
     * Registers a part of a device memory; see {@link #register(DeviceMemory, AccessFlag...)}.
     *
     * @param offset the first byte, counted from the start of the device memory
     * @param length the number of bytes, at least 1
     * @throws IndexOutOfBoundsException if the part reaches beyond the device memory
     */
    public MemoryRegion register(DeviceMemory memory, long offset, long length, AccessFlag... access) {
        return OptionalRegions.deviceMemory(this, memory, offset, length, AccessFlag.mask(access));
    }

    /**
     * Registers a part of a dma-buf, such as memory of a GPU ({@code ibv_reg_dmabuf_mr}). The program gets the file
     * descriptor from the owner of the dma-buf, and may close it when this call has returned.
     *
     * @param fd the file descriptor of the dma-buf
     * @param offset the first byte, counted from the start of the dma-buf
     * @param length the number of bytes, at least 1
     * @param iova the address of the first byte in work requests; its offset within a page must be that of {@code
     *     offset}
     * @param access rights of local writes and of peers, and RELAXED_ORDERING; no others
     * @throws UnsupportedVerbException if the device does not have {@code Feature.DMABUF}
     * @throws RdmaSystemException if the device refuses, such as EBADF or EINVAL for another file descriptor
     */
    public MemoryRegion registerDmabuf(int fd, long offset, long length, long iova, AccessFlag... access) {
        return OptionalRegions.dmabuf(this, fd, offset, length, iova, AccessFlag.mask(access));
    }

    /**
     * Gives the device advice on slices of regions with {@link AccessFlag#ON_DEMAND}, and returns when it was followed
     * ({@code ibv_advise_mr} with IBV_ADVISE_MR_FLAG_FLUSH). A later access then finds the pages; the system can still
     * take them away in between.
     *
     * @param slices at least one, of regions of this protection domain
     * @throws UnsupportedVerbException if the device does not have {@code Feature.MEMORY_ADVICE}, or not this advice
     * @throws RdmaSystemException if the device refuses: EFAULT if a part is not mapped, EPERM for PREFETCH_WRITE where
     *     the region permits no local writes, EINVAL or ENOENT if a region does not page on demand
     */
    public void advise(MemoryAdvice advice, MemorySlice... slices) {
        OptionalRegions.advise(this, advice, true, slices);
    }

    /** The same without waiting: returns when the device knows the advice. See {@link #advise}. */
    public void adviseLater(MemoryAdvice advice, MemorySlice... slices) {
        OptionalRegions.advise(this, advice, false, slices);
    }

    /** Makes an unbound memory window ({@code ibv_alloc_mw}). */
    public MemoryWindow memoryWindow(MemoryWindowType type) {
        return create(
                "ibv_alloc_mw(" + context.device().name() + ", " + type + ")",
                () -> context.verbs.allocMemoryWindow(handle, type.code()),
                h -> new MemoryWindow(this, type, h),
                this);
    }

    /**
     * Makes a queue pair in state RESET ({@code ibv_create_qp}, {@code ibv_create_qp_ex}).
     *
     * @throws IllegalArgumentException if a queue of {@code attributes} belongs to another context, or if the type and
     *     the shared receive queue do not fit: only {@link XrcDomain#queuePair} makes an XRC_RECV queue pair, and none
     *     takes all its receives from a queue of XRC
     * @throws UnsupportedVerbException if the device, its driver or libibverbs lacks a feature of {@code attributes},
     *     XRC for an XRC_SEND queue pair, or queue pairs of type RAW_PACKET
     * @throws RdmaSystemException if the device refuses; the message names an exceeded limit
     */
    public QueuePair queuePair(QueuePairInitAttributes attributes) {
        return DomainQueues.queuePair(this, attributes);
    }

    /**
     * Makes a queue pair of a driver's own type in state RESET, for modules that know the driver, such as kverbs-mlx5
     * and kverbs-efa. Each request on an extended one carries its destination: {@link SendRequests#to(AddressHandle,
     * int, long)}.
     *
     * @param attributes those of a queue pair of type DRIVER
     * @throws IllegalArgumentException for another type, or if a queue of {@code attributes} is of another context
     * @throws UnsupportedVerbException if the device or its library lacks the call
     * @throws RdmaSystemException if the device refuses; the message names an exceeded limit
     */
    public QueuePair queuePair(QueuePairInitAttributes attributes, DriverQueuePairs driver) {
        return DomainQueues.queuePair(this, attributes, driver);
    }

    /**
     * Makes a work queue in state RESET ({@code ibv_create_wq}). {@link WorkQueue#modify(WorkQueueState)} makes it
     * ready.
     *
     * @throws IllegalArgumentException if the completion queue belongs to another context
     * @throws UnsupportedVerbException if the device does not have {@link Feature#WORK_QUEUES}
     * @throws RdmaSystemException if the device refuses: EINVAL for a size that it does not have, EOPNOTSUPP or EINVAL
     *     for a flag
     */
    public WorkQueue workQueue(WorkQueueAttributes attributes) {
        DomainQueues.requireSameContext(this, attributes.cq());
        return WorkQueue.make(this, attributes);
    }

    /** Makes a shared receive queue ({@code ibv_create_srq}). */
    public SharedReceiveQueue sharedReceiveQueue(SharedReceiveQueueAttributes attributes) {
        return DomainQueues.sharedReceiveQueue(this, attributes);
    }

    /**
     * Makes a shared receive queue of XRC ({@code ibv_create_srq_ex}). Messages of extended reliable connections name
     * it by its {@linkplain SharedReceiveQueue#number number}. Their receives complete in {@code cq}, whichever queue
     * pair of the domain they came to.
     *
     * @param domain the domain whose receiving queue pairs can reach the queue
     * @param cq the completion queue of the receives
     * @throws IllegalArgumentException if the domain or the completion queue belongs to another context
     * @throws UnsupportedVerbException if the device has no XRC
     * @throws RdmaSystemException if the device refuses; the message names an exceeded limit
     */
    public SharedReceiveQueue sharedReceiveQueue(
            SharedReceiveQueueAttributes attributes, XrcDomain domain, CompletionQueue cq) {
        return DomainQueues.sharedReceiveQueue(this, attributes, domain, cq);
    }

    /**
     * Makes a shared receive queue that gives a message to the buffer of its tag ({@code ibv_create_srq_ex} with {@code
     * IBV_SRQT_TM}): see {@link TagList}. RC queue pairs are made with it as with a basic queue, but the completions of
     * its receives come to {@code cq}, whichever queue pair got the message. The send queues of these queue pairs
     * belong to the device, which can post reads to them: a program that also sends must know its device.
     *
     * @param attributes the sizes of the queue of ordinary receives, which unexpected messages take
     * @param maxTags how many buffers the list has room for
     * @param maxOperations how many operations on the list may wait for their completion
     * @param cq the completion queue; make it with {@code CompletionField.TAG_INFO} to learn the tags of messages
     * @throws IllegalArgumentException if the completion queue belongs to another context
     * @throws UnsupportedVerbException if the device does not have {@link Feature#TAG_MATCHING}
     * @throws RdmaSystemException if the device refuses; {@code DeviceAttributesEx.tagMatching} shows the limits
     */
    public SharedReceiveQueue sharedReceiveQueue(
            SharedReceiveQueueAttributes attributes, int maxTags, int maxOperations, CompletionQueue cq) {
        return DomainQueues.sharedReceiveQueue(this, attributes, maxTags, maxOperations, cq);
    }

    /** Makes an address handle, the destination of UD messages ({@code ibv_create_ah}). */
    public AddressHandle addressHandle(AddressAttributes attributes) {
        return AddressHandle.make(this, attributes);
    }

    /**
     * Makes an address handle back to the sender of a received UD message ({@code ibv_create_ah_from_wc}).
     *
     * @param port the local port that received the message
     * @param completion the completion of the receive
     * @param grh the first 40 bytes of the receive buffer, into which the device wrote the global routing header
     */
    public AddressHandle addressHandle(int port, WorkCompletion completion, MemorySegment grh) {
        return addressHandle(addressOf(port, completion, grh));
    }

    /**
     * Returns the address of the sender of a received UD message ({@code ibv_init_ah_from_wc}); see {@link
     * #addressHandle(int, WorkCompletion, MemorySegment)} for the parameters.
     */
    public AddressAttributes addressOf(int port, WorkCompletion completion, MemorySegment grh) {
        return AddressHandle.addressOf(this, port, completion, grh);
    }

    private void destroy() {
        if (isImported) {
            context.verbs.imports().unimportPd(handle);
            return;
        }
        SystemErrors.check("ibv_dealloc_pd(" + context.device().name() + ")", context.verbs.deallocPd(handle));
        if (callbacks != null) {
            callbacks.close();
        }
    }

    @Override
    public String describe() {
        return (parent == null ? "protection domain on " : "parent domain on ")
                + context.device().name();
    }
}
