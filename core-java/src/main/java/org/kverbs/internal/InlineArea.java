package org.kverbs.internal;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.kverbs.internal.memory.Memory;

/**
 * Native memory that holds the bytes of inline requests from their encoding to their posting. The C library reads them
 * during the post, and this copy cannot be freed meanwhile, as the caller's memory could.
 */
public final class InlineArea {

    private static final int SMALLEST = 1024;

    /** The current chunk. A list without inline requests needs no memory, so the first chunk is empty. */
    private MemorySegment chunk = MemorySegment.NULL;
    /** Full chunks that requests point into. The next clear drops them. */
    private final List<MemorySegment> full = new ArrayList<>();

    private long used;

    /** Makes an empty area. */
    public InlineArea() {}

    /** Drops all bytes and keeps the memory. */
    public void clear() {
        used = 0;
        if (!full.isEmpty()) {
            full.clear();
        }
    }

    /**
     * Copies bytes into this area and returns their address. It is valid until {@link #clear}, as long as this area is
     * reachable.
     *
     * @throws InternalError if {@code from} is a mapped file that has been truncated
     */
    public long copy(MemorySegment from, long offset, long length) {
        long place = place(length);
        MemorySegment.copy(from, offset, chunk, place, length);
        if (from.isMapped()) {
            Memory.throwPending(); // here, and not where the post holds locks
        }
        return chunk.address() + place;
    }

    /**
     * Copies an array into this area and returns its address. A method of its own, because a segment of an array would
     * be a new object.
     */
    public long copy(byte[] from) {
        long place = place(from.length);
        MemorySegment.copy(from, 0, chunk, JAVA_BYTE, place, from.length);
        return chunk.address() + place;
    }

    /** Reserves {@code length} bytes and returns their offset in the chunk. */
    private long place(long length) {
        if (chunk.byteSize() - used < length || chunk.byteSize() == 0) {
            full.add(chunk);
            chunk = Arena.ofAuto().allocate(Math.max(Math.max(length, SMALLEST), chunk.byteSize() * 2), 8);
            used = 0;
        }
        long place = used;
        used += length;
        return place;
    }
}
