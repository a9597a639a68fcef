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
 * <p>For one thread at a time. Filling and reading a batch allocates nothing.
 */
public final class WorkCompletions {

    private final MemorySegment memory;
    private final int capacity;
    private final WorkCompletion view;
    private int count;

    /**
     * Makes an empty batch.
     *
     * @param capacity the largest number of completions that one poll takes
     */
    public WorkCompletions(int capacity) {
        this.capacity = Ranges.require("capacity", capacity, 1, 1 << 20);
        memory = Arena.ofAuto().allocate((long) capacity * IbvWc.SIZE, JAVA_LONG.byteAlignment());
        view = new WorkCompletion(memory);
    }

    /** Returns how many completions this batch can hold. */
    public int capacity() {
        return capacity;
    }

    /** Returns how many completions the last poll put into this batch. */
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
     * Returns a completion of the last poll. Each call returns the same view object, moved to {@code index}; it is
     * valid until the next call or poll.
     *
     * @param index the index of the completion, from 0
     * @throws IndexOutOfBoundsException if the last poll put in fewer completions
     */
    public WorkCompletion get(int index) {
        if (index < 0 || index >= count) {
            throw new IndexOutOfBoundsException(
                    "completion " + index + " is not in the batch: the last poll gave " + count + ", numbered from 0");
        }
        return view.moveTo(index);
    }
}
