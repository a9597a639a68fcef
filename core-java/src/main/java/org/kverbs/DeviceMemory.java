package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.IntSupplier;
import org.kverbs.attributes.AccessFlag;
import org.kverbs.attributes.Feature;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.abi.IbvAllocDmAttr;
import org.kverbs.internal.abi.IbvDm;
import org.kverbs.internal.memory.Memory;
import org.kverbs.internal.values.Ranges;

/**
 * Memory of the device itself ({@code struct ibv_dm}). An access by the device or by a peer does not cross the bus, so
 * it suits small data that many peers use, such as counters for atomics. Register it with {@link
 * ProtectionDomain#register(DeviceMemory, AccessFlag...)}. The program reads and writes it by {@link #copyTo} and
 * {@link #copyFrom}.
 *
 * <p>Devices of mlx5 copy whole words only: an offset and a length that are multiples of 4. A device has little of this
 * memory: {@code DeviceAttributesEx.maxDmSize}.
 *
 * <p>Safe for any thread. A copy that runs beside an access of the device or of a peer, or beside another copy, can see
 * some of its bytes. Closing device memory closes its regions first. Source: {@code man 3 ibv_alloc_dm}.
 */
public final class DeviceMemory extends Resource {

    private final Context context;
    private final long handle;
    private final long size;
    /** True if another context allocated the memory, which then outlives this object. */
    private final boolean isImported;

    DeviceMemory(Context context, long handle, long length, boolean isImported) {
        super(new Lifetime(Turn.FOUNDATIONS, context.lifetime));
        this.context = context;
        this.handle = handle;
        this.size = length;
        this.isImported = isImported;
        lifetime.begin(this, Ending.of(this::describe, this::destroy));
    }

    static DeviceMemory allocate(Context context, long length, int alignment) {
        Ranges.require("length", length, 1, Long.MAX_VALUE);
        if (Integer.bitCount(alignment) != 1 || alignment < 0) {
            throw new IllegalArgumentException(
                    "alignment " + alignment + " is not a power of 2: give 1, 2, 4 and so on, in bytes");
        }
        String operation =
                "ibv_alloc_dm(%s, length=%d, alignment=%d)".formatted(context.device().name(), length, alignment);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(IbvAllocDmAttr.SIZE, JAVA_LONG.byteAlignment());
            attributes.set(JAVA_LONG, IbvAllocDmAttr.LENGTH, length);
            attributes.set(JAVA_INT, IbvAllocDmAttr.LOG_ALIGN_REQ, Integer.numberOfTrailingZeros(alignment));
            return create(
                    errno -> context.refusal(Feature.DEVICE_MEMORY, operation, errno),
                    () -> context.verbs.optionalMemory().allocDeviceMemory(attributes),
                    h -> new DeviceMemory(context, h, length, false),
                    context);
        }
    }

    /** Returns the open device whose memory it is. */
    public Context context() {
        return context;
    }

    /** Returns the number of bytes. */
    public long length() {
        return size;
    }

    long handle() {
        return handle;
    }

    /**
     * Returns the kernel's number of this device memory. A context that was imported from this one finds it by the
     * number: see {@link Context#importDeviceMemory}.
     *
     * @throws IllegalStateException if the device memory is closed
     */
    public int kernelHandle() {
        lifetime.enter();
        try {
            return Memory.getInt(handle + IbvDm.HANDLE);
        } finally {
            lifetime.exit();
        }
    }

    @Override
    protected long nativeAddress() {
        return context.nativeAddress(handle);
    }

    /**
     * Copies memory of the program into this device memory ({@code ibv_memcpy_to_dm}).
     *
     * @param offset the first byte of this device memory that is written
     * @param source the bytes, off-heap or on the heap
     * @throws IndexOutOfBoundsException if the bytes reach beyond this device memory
     * @throws UnsupportedVerbException if the driver has no copies, as mana
     * @throws RdmaSystemException if the device refuses: EINVAL for an offset or length that is not a multiple of 4, on
     *     mlx5
     */
    public void copyFrom(long offset, MemorySegment source) {
        Ranges.requirePart("the device memory", offset, source.byteSize(), size);
        try (Arena arena = Arena.ofConfined()) {
            // A copy: while the device reads it, nobody can free it, and an array of the heap is not native memory.
            MemorySegment staged = staged(arena, source.byteSize()).copyFrom(source);
            copy(
                    "ibv_memcpy_to_dm", offset, staged,
                    () -> context.verbs.optionalMemory().copyToDeviceMemory(handle, offset, staged));
        }
    }

    /**
     * Copies from this device memory to memory of the program ({@code ibv_memcpy_from_dm}).
     *
     * @param offset the first byte of this device memory that is read
     * @param target the memory to fill, off-heap or on the heap
     * @throws IndexOutOfBoundsException if the bytes reach beyond this device memory
     * @throws RdmaSystemException as {@link #copyFrom}
     */
    public void copyTo(long offset, MemorySegment target) {
        Ranges.requirePart("the device memory", offset, target.byteSize(), size);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment staged = staged(arena, target.byteSize());
            copy(
                    "ibv_memcpy_from_dm", offset, staged,
                    () -> context.verbs.optionalMemory().copyFromDeviceMemory(staged, handle, offset));
            target.copyFrom(staged);
        }
    }

    private static MemorySegment staged(Arena arena, long bytes) {
        return arena.allocate(bytes, Long.BYTES);
    }

    private void copy(String verb, long offset, MemorySegment bytes, IntSupplier call) {
        command(errno -> context.refusal(Feature.DEVICE_MEMORY, call(verb, offset, bytes.byteSize()), errno), call);
    }

    private String call(String verb, long offset, long bytes) {
        return "%s(%s, offset=%d, length=%d)".formatted(verb, context.device().name(), offset, bytes);
    }

    private void destroy() {
        if (isImported) {
            context.verbs.imports().unimportDeviceMemory(handle);
            return;
        }
        SystemErrors.check(
                "ibv_free_dm(" + describe() + ")", context.verbs.optionalMemory().freeDeviceMemory(handle));
    }

    @Override
    public String describe() {
        return "device memory of " + size + " bytes on " + context.device().name();
    }
}
