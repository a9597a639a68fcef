package org.kverbs.embedded.internal.objects;

import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The memory that a program named for an implicit region. Memory ends with its scope: when its arena is closed or, for
 * an automatic arena, when the program has no reference to it. Ranges do not overlap: where memory is named twice, the
 * later scope counts. Called with the lock held.
 */
final class KnownMemory {

    /** A range up to {@code end}. The reference is weak: paging on demand keeps no memory from being freed. */
    private record Range(long end, WeakReference<MemorySegment.Scope> scope) {
        boolean isAlive() {
            MemorySegment.Scope known = scope.get();
            return known != null && known.isAlive();
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
    /** By start address. */
    private final TreeMap<Long, Range> ranges = new TreeMap<>();
    /** The number of ranges at which those of freed memory are dropped. */
    private int crowd = 64;

    KnownMemory(Forgotten forgotten) {
        this.forgotten = forgotten;
    }

    /** Tells whether all of a range is known memory that is not freed. */
    boolean covers(long address, long bytes) {
        long end = address + bytes;
        long reached = address;
        Map.Entry<Long, Range> at = ranges.floorEntry(address);
        while (at != null && at.getKey() <= reached && at.getValue().end > reached && at.getValue().isAlive()) {
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
        ranges.put(start, new Range(end, new WeakReference<>(scope)));
        if (ranges.size() > crowd) {
            dropFreed();
            crowd = Math.max(64, 2 * ranges.size());
        }
    }

    private void dropFreed() {
        ranges.entrySet().removeIf(at -> {
            boolean isFreed = !at.getValue().isAlive();
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
            ranges.put(from, new Range(Math.min(former.end, start), former.scope));
        } else if (from < end) {
            ranges.remove(from);
        }
    }

    /** Returns the number of ranges. */
    int count() {
        return ranges.size();
    }
}
