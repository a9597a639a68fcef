package org.kverbs.internal;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * Native memory that holds the bytes of inline requests from their encoding to their posting. The C library reads them
 * while posting, so they must be where nobody can free them: this copy, not the caller's memory.
 */
public final class InlineArea {

    private static final int SMALLEST = 1024;

    /** Most lists have no inline request and need none. */
    private MemorySegment chunk = MemorySegment.NULL;
    /** Chunks that ran full while requests point into them; dropped by the next clear. */
    private final List<MemorySegment> full = new ArrayList<>();

    private long used;

    /** Makes an empty area. */
    public InlineArea() {}

    /** Forgets all bytes and keeps the memory. */
    public void clear() {
        used = 0;
        if (!full.isEmpty()) {
            full.clear();
        }
    }

    /** Copies bytes in and gives their address, good until {@link #clear} as long as this is reachable. */
    public long copy(MemorySegment from, long offset, long length) {
        long place = place(length);
        MemorySegment.copy(from, offset, chunk, place, length);
        return chunk.address() + place;
    }

    /** The same for an array; on its own because a segment of an array is an object. */
    public long copy(byte[] from) {
        long place = place(from.length);
        MemorySegment.copy(from, 0, chunk, JAVA_BYTE, place, from.length);
        return chunk.address() + place;
    }

    /** Where in the chunk so many bytes have room. */
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
