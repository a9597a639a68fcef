package org.kverbs.embedded.internal.objects;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The memory that a program named for an implicit region. Memory ends with its scope: when its arena is closed or, for
 * an automatic arena, when the program has no reference to it. Ranges do not overlap: where memory is named twice, the
 * later scope counts. Called with the lock held.
 */
final class KnownMemory {

    private static final Class<?> AUTOMATIC = Arena.ofAuto().scope().getClass();

    /**
     * A range up to {@code end}. The reference to the scope of an automatic arena is weak: paging on demand keeps no
     * memory from being freed. All segments of such an arena lead to one scope. A direct buffer gives each of its
     * segments a scope of its own, so that none of them tells when the buffer is gone.
     *
     * @param kept the scope, unless it belongs to an automatic arena
     */
    private record Range(long end, WeakReference<MemorySegment.Scope> scope, MemorySegment.@Nullable Scope kept) {

        Range(long end, MemorySegment.Scope scope) {
            this(end, new WeakReference<>(scope), scope.getClass() == AUTOMATIC ? null : scope);
        }

        Range upTo(long newEnd) {
            return new Range(newEnd, scope, kept);
        }

        /** Returns the scope if it is alive. */
        MemorySegment.@Nullable Scope alive() {
            MemorySegment.Scope known = scope.get();
            return known != null && known.isAlive() ? known : null;
        }

        boolean isOf(MemorySegment.Scope other) {
            return other.equals(scope.get());
        }
    }

    /** Learns of ranges whose memory is not the one that was named before. */
    interface Forgotten {
        void range(long start, long end);
    }

    private final Forgotten forgotten;
    private final Consumer<Object> keeper;
    /** By start address. */
    private final TreeMap<Long, Range> ranges = new TreeMap<>();
    /** The number of ranges at which those of freed memory are dropped. */
    private int crowd = 64;

    /** @param keeper keeps what it gets reachable until the device has used it */
    KnownMemory(Forgotten forgotten, Consumer<Object> keeper) {
        this.forgotten = forgotten;
        this.keeper = keeper;
    }

    /** Tells whether all of a range is known memory that is not freed, and gives its scopes to the keeper. */
    boolean covers(long address, long bytes) {
        long end = address + bytes;
        long reached = address;
        Map.Entry<Long, Range> at = ranges.floorEntry(address);
        while (at != null && at.getKey() <= reached && at.getValue().end > reached) {
            MemorySegment.Scope scope = at.getValue().alive();
            if (scope == null) {
                return false;
            }
            keeper.accept(scope);
            reached = at.getValue().end;
            if (reached >= end) {
                return true;
            }
            at = ranges.higherEntry(at.getKey());
        }
        return bytes == 0;
    }

    void add(MemorySegment memory) {
        if (memory.byteSize() == 0) {
            return;
        }
        MemorySegment.Scope scope = memory.scope();
        long start = memory.address();
        long end = start + memory.byteSize();
        Map.Entry<Long, Range> floor = ranges.floorEntry(start);
        if (floor != null && floor.getValue().isOf(scope) && floor.getValue().end >= end) {
            return;
        }
        // Cuts the former ranges to what lies outside, and joins those of the same scope.
        Map.Entry<Long, Range> at = floor == null ? ranges.ceilingEntry(start) : floor;
        while (at != null && at.getKey() <= end) {
            long from = at.getKey();
            Range former = at.getValue();
            if (former.end >= start) {
                if (former.isOf(scope)) {
                    ranges.remove(from);
                    start = Math.min(start, from);
                    end = Math.max(end, former.end);
                } else {
                    cut(from, former, start, end);
                }
            }
            at = ranges.higherEntry(from);
        }
        ranges.put(start, new Range(end, scope));
        if (ranges.size() > crowd) {
            dropFreed();
            crowd = Math.max(64, 2 * ranges.size());
        }
    }

    private void dropFreed() {
        ranges.entrySet().removeIf(at -> {
            boolean isFreed = at.getValue().alive() == null;
            if (isFreed) {
                forgotten.range(at.getKey(), at.getValue().end);
            }
            return isFreed;
        });
    }

    private void cut(long from, Range former, long start, long end) {
        if (Math.max(from, start) < Math.min(former.end, end)) {
            forgotten.range(Math.max(from, start), Math.min(former.end, end));
        }
        if (former.end > end) {
            ranges.put(end, former);
        }
        if (from < start) {
            ranges.put(from, former.upTo(Math.min(former.end, start)));
        } else if (from < end) {
            ranges.remove(from);
        }
    }

    /** Returns the number of ranges. */
    int count() {
        return ranges.size();
    }
}
