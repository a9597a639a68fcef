package org.kverbs;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.values.Ranges;

/**
 * A part of a memory region, as one scatter and gather entry ({@code struct ibv_sge}). Immutable and safe for any
 * thread: make a slice once and use it in any number of work requests.
 */
public final class MemorySlice {

    private static final long LARGEST = 0xffff_ffffL;

    private final MemoryRegion region;
    private final long offset;
    private final long address;
    private final int length;
    private final int lkey;
    private final @Nullable Object owner;
    /** The memory of a slice of an implicit region, which has none itself. */
    private final @Nullable MemorySegment part;

    MemorySlice(MemoryRegion region, long offset, long length, @Nullable Object owner) {
        this(region, offset, length, owner, null);
    }

    MemorySlice(
            MemoryRegion region, long offset, long length, @Nullable Object owner, @Nullable MemorySegment part) {
        Ranges.requirePart("the memory region", offset, length, region.length());
        if (length > LARGEST) {
            throw new IllegalArgumentException("a slice of " + length
                    + " bytes doesn't fit into one scatter and gather entry, which holds at most 4294967295; use "
                    + "several slices");
        }
        this.region = region;
        this.offset = offset;
        this.address = region.requestAddress() + offset;
        this.length = (int) length;
        this.lkey = region.lkey();
        this.owner = owner;
        this.part = part;
    }

    /** Returns the region that this slice is part of. */
    public MemoryRegion region() {
        return region;
    }

    /** Returns the offset of the first byte from the start of the region. */
    public long offset() {
        return offset;
    }

    /**
     * Returns the address in work requests. It is the address in this process, unless the region was registered at
     * another one.
     */
    public long address() {
        return address;
    }

    /** Returns the number of bytes. */
    public long length() {
        return Integer.toUnsignedLong(length);
    }

    /** Returns the lkey that the region had when this slice was made. */
    public int lkey() {
        return lkey;
    }

    /** Returns the owner that {@link MemoryRegion#slice(long, long, Object)} was given, or null. */
    public @Nullable Object owner() {
        return owner;
    }

    /** Returns whether the slice has memory of its own, which {@link #memory} then returns without an allocation. */
    boolean hasPart() {
        return part != null;
    }

    /**
     * Returns the bytes of this slice, to read and write.
     *
     * @throws IllegalStateException if the region is closed
     * @throws UnsupportedOperationException if the region has no memory: see {@link MemoryRegion#hasMemory}
     */
    public MemorySegment memory() {
        if (part != null && region.isOpen()) {
            return part;
        }
        return region.memory().asSlice(offset, length());
    }
}
