package org.kverbs.embedded.internal.objects;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.kverbs.internal.memory.Memory;

/**
 * Allocates native memory for the C structures of a device's objects. The memory is zeroed, reused, and freed when this
 * object is closed.
 */
public final class Structures implements AutoCloseable {

    private static final int CHUNK = 16 * 1024;

    private final Arena arena = Arena.ofShared();
    private final Map<Integer, ArrayDeque<Long>> free = new HashMap<>();
    private MemorySegment chunk = MemorySegment.NULL;
    private long used;
    private final List<Runnable> atClose = new ArrayList<>();

    /** Returns the address of {@code size} bytes of zeros, aligned for any field. */
    long allocate(int size) {
        ArrayDeque<Long> same = free.get(size);
        if (same != null && !same.isEmpty()) {
            long address = same.pop();
            Memory.at(address, size).fill((byte) 0);
            return address;
        }
        if (used + size > chunk.byteSize()) {
            chunk = arena.allocate(CHUNK, 16);
            used = 0;
        }
        long address = chunk.address() + used;
        used += (size + 15) & ~15;
        return address;
    }

    /** Takes back a structure of {@link #allocate}. */
    void release(long address, int size) {
        free.computeIfAbsent(size, s -> new ArrayDeque<>()).push(address);
    }

    /** Registers an action that runs when this object is closed. */
    void whenClosed(Runnable action) {
        atClose.add(action);
    }

    @Override
    public void close() {
        atClose.forEach(Runnable::run);
        arena.close();
    }
}
