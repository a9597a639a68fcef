package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.IbvWc;
import org.kverbs.internal.values.Ranges;

/**
 * A reusable batch of completions ({@code struct ibv_wc[]}) that {@link CompletionQueue#poll(WorkCompletions)} fills.
 *
 * <pre>{@code
 * var batch = new WorkCompletions(64);
 * int count = cq.poll(batch);
 * for (int i = 0; i < count; i++) {
 *     handle(batch.get(i));
 * }
 * }</pre>
 *
 * <p>For one thread at a time. Neither filling nor reading it allocates.
 */
public final class WorkCompletions {

    private final MemorySegment memory;
    private final int capacity;
    private final WorkCompletion view;
    private int count;

    /**
     * @param capacity how many completions one poll takes at most
     */
    public WorkCompletions(int capacity) {
        this.capacity = Ranges.require("capacity", capacity, 1, 1 << 20);
        memory = Arena.ofAuto().allocate((long) capacity * IbvWc.SIZE, JAVA_LONG.byteAlignment());
        view = new WorkCompletion(memory);
    }

    /** How many it can hold. */
    public int capacity() {
        return capacity;
    }

    /** How many the last poll put in. */
    public int size() {
        return count;
    }

    void size(int newCount) {
        count = newCount;
    }

    long address() {
        return memory.address();
    }

    /**
     * A completion of the last poll. The same view object each time, moved: good until the next call or poll.
     *
     * @param index from 0
     */
    public WorkCompletion get(int index) {
        if (index < 0 || index >= count) {
            throw new IndexOutOfBoundsException(
                    "completion " + index + " was asked for, and the last poll gave " + count);
        }
        return view.moveTo(index);
    }
}
