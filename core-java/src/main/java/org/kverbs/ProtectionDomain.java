package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.AccessFlag;
import org.kverbs.attributes.AddressAttributes;
import org.kverbs.attributes.Feature;
import org.kverbs.attributes.MemoryWindowType;
import org.kverbs.attributes.QueuePairType;
import org.kverbs.attributes.SharedReceiveQueueAttributes;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.Structures;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvAhAttr;
import org.kverbs.internal.abi.IbvGrh;
import org.kverbs.internal.abi.IbvQpInitAttr;
import org.kverbs.internal.abi.IbvQpInitAttrEx;
import org.kverbs.internal.abi.IbvSrqInitAttr;
import org.kverbs.internal.values.Ranges;

/**
 * A protection domain ({@code struct ibv_pd}). A queue pair can use only memory regions, memory windows and address
 * handles of its own domain.
 *
 * <p>Safe for any thread. Source: {@code man 3 ibv_alloc_pd}.
 */
public final class ProtectionDomain extends Resource {

    private static final long PAGE = 4096;

    private final Context context;
    private final long handle;

    ProtectionDomain(Context context, long handle) {
        super(new Lifetime(Turn.FOUNDATIONS, context.lifetime));
        this.context = context;
        this.handle = handle;
        lifetime.begin(this, Ending.of(this::describe, this::destroy));
    }

    /** Returns the open device that this domain belongs to. */
    public Context context() {
        return context;
    }

    long handle() {
        return handle;
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
        } catch (RuntimeException | OutOfMemoryError e) {
            arena.close();
            throw e;
        }
    }

    /**
     * Registers off-heap memory of the caller ({@code ibv_reg_mr}). The region keeps the segment reachable, so memory
     * of an automatic arena lives as long as the region. Close any other arena only after the region.
     *
     * <p>An embedded device cannot detect unmapped memory: it refuses only addresses below 64 KiB. A NIC reports EFAULT
     * at registration; with an embedded device the JVM crashes when a message touches an unmapped page. An embedded
     * device does notice an arena that was closed before the region: requests that need the memory fail.
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
        return create(
                "ibv_reg_mr(%s, addr=0x%x, length=%d, access=%s)"
                        .formatted(context.device().name(), memory.address(), memory.byteSize(), AccessFlag.of(mask)),
                () -> context.excess(
                        (excess, limits) -> excess.of("length", memory.byteSize(), "max_mr_size", limits.maxMrSize())),
                () -> context.verbs.registerMemory(handle, memory, requestAddress, mask),
                h -> new MemoryRegion(this, h, memory, requestAddress, mask, owned),
                this);
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
     * @throws IllegalArgumentException if a queue of {@code attributes} belongs to another context
     * @throws UnsupportedVerbException if the device has no queue pairs of type RAW_PACKET
     * @throws RdmaSystemException if the device refuses; the message names an exceeded limit
     */
    public QueuePair queuePair(QueuePairInitAttributes attributes) {
        var parents = new ArrayList<Resource>(List.of(this, attributes.sendCq(), attributes.recvCq()));
        if (attributes.srq() != null) {
            parents.add(attributes.srq());
        }
        for (Resource parent : parents) {
            Context other = contextOf(parent);
            if (other != context) {
                throw new IllegalArgumentException(parent.describe() + " belongs to another open device than "
                        + describe() + "; make both from the same context");
            }
        }
        try (Arena arena = Arena.ofConfined()) {
            boolean extended = attributes.extended();
            MemorySegment init = arena.allocate(IbvQpInitAttrEx.SIZE, JAVA_LONG.byteAlignment());
            attributes.writeTo(init);
            String operation = (extended ? "ibv_create_qp_ex(" : "ibv_create_qp(")
                    + context.device().name() + ", " + attributes + ")";
            return create(
                    errno -> refused(operation, attributes, errno),
                    () -> extended ? createExtended(attributes, init) : context.verbs.createQueuePair(handle, init),
                    h -> new QueuePair(
                            this, attributes, Structures.CAPABILITIES.read(init.asSlice(IbvQpInitAttr.CAP)), h),
                    parents.toArray(Resource[]::new));
        }
    }

    private RdmaSystemException refused(String operation, QueuePairInitAttributes attributes, int errno) {
        boolean lacksRaw = attributes.type() == QueuePairType.RAW_PACKET
                && (errno == Errno.EOPNOTSUPP || errno == Errno.ENOSYS);
        return lacksRaw
                ? context.refusal(Feature.RAW_PACKET, operation, errno)
                : SystemErrors.refused(operation, errno, () -> context.excess(
                        (excess, limits) -> excess.of(attributes.capabilities(), limits)));
    }

    private long createExtended(QueuePairInitAttributes attributes, MemorySegment init) {
        attributes.writeTo(init, handle, true);
        long result = context.verbs.createQueuePairEx(init);
        if (result == -Errno.EOPNOTSUPP) {
            attributes.writeTo(init, handle, false);
            result = context.verbs.createQueuePairEx(init);
        }
        return result;
    }

    private static Context contextOf(Resource parent) {
        return switch (parent) {
            case CompletionQueue cq -> cq.context();
            case SharedReceiveQueue srq -> srq.protectionDomain().context();
            case ProtectionDomain pd -> pd.context();
            default -> throw new IllegalStateException(parent.describe());
        };
    }

    /** Makes a shared receive queue ({@code ibv_create_srq}). */
    public SharedReceiveQueue sharedReceiveQueue(SharedReceiveQueueAttributes attributes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment init = arena.allocate(IbvSrqInitAttr.SIZE, JAVA_LONG.byteAlignment());
            Structures.SHARED_RECEIVE_QUEUE.write(attributes, init.asSlice(IbvSrqInitAttr.ATTR));
            return create(
                    "ibv_create_srq(" + context.device().name() + ", " + attributes + ")",
                    () -> context.excess((excess, limits) -> excess
                            .of("max_wr", attributes.maxWr(), "max_srq_wr", limits.maxSrqWr())
                            .of("max_sge", attributes.maxSge(), "max_srq_sge", limits.maxSrqSge())),
                    () -> context.verbs.createSharedReceiveQueue(handle, init),
                    h -> new SharedReceiveQueue(
                            this, Structures.SHARED_RECEIVE_QUEUE.read(init.asSlice(IbvSrqInitAttr.ATTR)), h),
                    this);
        }
    }

    /** Makes an address handle, the destination of UD messages ({@code ibv_create_ah}). */
    public AddressHandle addressHandle(AddressAttributes attributes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment destination = arena.allocate(IbvAhAttr.SIZE, JAVA_LONG.byteAlignment());
            Structures.ADDRESS.write(attributes, destination);
            return create(
                    "ibv_create_ah(" + context.device().name() + ", " + attributes + ")",
                    () -> context.excess((excess, limits) -> excess
                            .of("port_num", attributes.port(), "phys_port_cnt", limits.physPortCnt())),
                    () -> context.verbs.createAddressHandle(handle, destination),
                    h -> new AddressHandle(this, attributes, h),
                    this);
        }
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
        Ranges.requirePart("the memory given for the global routing header", 0, IbvGrh.SIZE, grh.byteSize());
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment header = arena.allocate(IbvGrh.SIZE, JAVA_LONG.byteAlignment());
            header.copyFrom(grh.asSlice(0, IbvGrh.SIZE));
            MemorySegment attributes = arena.allocate(IbvAhAttr.SIZE, JAVA_LONG.byteAlignment());
            command(
                    "ibv_init_ah_from_wc(" + context.device().name() + ", port=" + port + ")",
                    () -> context.verbs.addressFromCompletion(port, completion.structure(), header, attributes));
            return Structures.ADDRESS.read(attributes);
        }
    }

    private void destroy() {
        SystemErrors.check("ibv_dealloc_pd(" + context.device().name() + ")", context.verbs.deallocPd(handle));
    }

    @Override
    public String describe() {
        return "protection domain on " + context.device().name();
    }
}
