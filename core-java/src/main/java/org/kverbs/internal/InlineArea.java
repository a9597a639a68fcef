package org.kverbs.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * Native memory that holds the bytes of inline requests from their encoding to their posting. The C library reads them
 * while posting, so they must be where nobody can free them: this copy, not the caller's memory.
 */
public final class InlineArea {

    private MemorySegment chunk = Arena.ofAuto().allocate(1024, 8);
    /** Chunks that ran full while requests point into them; dropped by the next clear. */
    private final List<MemorySegment> full = new ArrayList<>();

    private long used;

    /** Makes an empty area. */
    public InlineArea() {}

    /** Forgets all bytes and keeps the memory. */
    public void clear() {
        used = 0;
        full.clear();
    }

    /** Copies bytes in and gives their address, good until {@link #clear} as long as this is reachable. */
    public long copy(MemorySegment bytes) {
        long length = bytes.byteSize();
        if (chunk.byteSize() - used < length) {
            full.add(chunk);
            chunk = Arena.ofAuto().allocate(Math.max(length, chunk.byteSize() * 2), 8);
            used = 0;
        }
        MemorySegment.copy(bytes, 0, chunk, used, length);
        long address = chunk.address() + used;
        used += length;
        return address;
    }
}
