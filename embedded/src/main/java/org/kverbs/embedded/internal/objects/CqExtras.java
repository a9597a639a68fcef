package org.kverbs.embedded.internal.objects;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Instant;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.internal.abi.IbvWcTmInfo;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.CompletionExtras;

/**
 * The timestamps of the completions in a queue, one for each place of its ring. The device's clock is that of the
 * engine, with a tick of one nanosecond. The wall clock goes on from the system's as it was when the queue was made; on
 * the virtual clock it goes on from 1970, so that each run is the same.
 */
final class CqExtras {

    private final Engine engine;
    /** The wall clock at the tick 0, in nanoseconds since 1970. */
    private final long epoch;
    private final MemorySegment ring;

    CqExtras(Engine engine, int entries) {
        this(engine, engine.isVirtual() ? 0 : wallClock() - engine.now(), allocate(entries));
    }

    private CqExtras(Engine engine, long epoch, MemorySegment ring) {
        this.engine = engine;
        this.epoch = epoch;
        this.ring = ring;
    }

    private static long wallClock() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000_000 + now.getNano();
    }

    private static MemorySegment allocate(int entries) {
        // the garbage collector frees it, as the ring of the completions
        return Arena.ofAuto().allocate((long) entries * CompletionExtras.SIZE, Long.BYTES);
    }

    private long address(int place) {
        return ring.address() + (long) place * CompletionExtras.SIZE;
    }

    /** Writes the moment of a completion, and the tag of its message. */
    void stamp(int place, long tag, int data) {
        long now = engine.now();
        Memory.putLong(address(place) + CompletionExtras.TIMESTAMP, now);
        Memory.putLong(address(place) + CompletionExtras.WALL_CLOCK, now + epoch);
        Memory.putLong(address(place) + CompletionExtras.TAG_INFO + IbvWcTmInfo.TAG, tag);
        Memory.putInt(address(place) + CompletionExtras.TAG_INFO + IbvWcTmInfo.PRIV, data);
    }

    void move(int from, int to) {
        Memory.copy(address(from), address(to), CompletionExtras.SIZE);
    }

    /** Copies what belongs to a completion out of the queue. */
    void copy(int from, long to) {
        Memory.copy(address(from), to, CompletionExtras.SIZE);
    }

    /** Returns those of a ring of another size, to whose start the completions from {@code head} on move. */
    CqExtras resized(int entries, int head, int count, int oldEntries) {
        MemorySegment fresh = allocate(entries);
        for (int i = 0; i < count; i++) {
            long from = (long) ((head + i) % oldEntries) * CompletionExtras.SIZE;
            MemorySegment.copy(ring, from, fresh, (long) i * CompletionExtras.SIZE, CompletionExtras.SIZE);
        }
        return new CqExtras(engine, epoch, fresh);
    }
}
