package org.kverbs.embedded.internal.objects;

import java.util.Arrays;
import org.kverbs.internal.abi.IbvCounterDescription;

/** Counters of flow rules ({@code struct ibv_counters}). Guarded by the engine's lock. */
public final class FlowCounts {

    /** The most counters of one object. */
    private static final int MOST = 32;

    /** What is counted at each index, of {@code enum ibv_counter_description}; -1 for nothing. */
    private final int[] points = new int[MOST];

    private int length;
    private long packets;
    private long bytes;
    /** The number of rules that use the counters. */
    public int users;

    public FlowCounts() {
        Arrays.fill(points, -1);
    }

    /** Says what is counted at an index. Returns false if the index is too large or taken. */
    public boolean attach(int counter, int index) {
        if (index < 0 || index >= MOST || points[index] >= 0) {
            return false;
        }
        points[index] = counter;
        length = Math.max(length, index + 1);
        return true;
    }

    /** Returns one more than the largest index that counts. */
    public int length() {
        return length;
    }

    /** Returns the value at an index; 0 if nothing is counted there. */
    public long value(int index) {
        return switch (index < length ? points[index] : -1) {
            case IbvCounterDescription.IBV_COUNTER_PACKETS -> packets;
            case IbvCounterDescription.IBV_COUNTER_BYTES -> bytes;
            default -> 0;
        };
    }

    /** Counts a frame. */
    public void count(int frame) {
        packets++;
        bytes += frame;
    }
}
