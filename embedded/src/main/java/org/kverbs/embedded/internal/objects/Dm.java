package org.kverbs.embedded.internal.objects;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Device memory ({@code struct ibv_dm}). */
public final class Dm {

    private final Arena arena;
    public final MemorySegment memory;
    /** The number of regions that are registered on it. */
    public int regions;

    /** @param arena an arena of its own, which has the memory */
    public Dm(Arena arena, MemorySegment memory) {
        this.arena = arena;
        this.memory = memory;
    }

    /** Frees the memory. */
    public void free() {
        arena.close();
    }
}
