package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.IbvWc;
import org.kverbs.internal.memory.Memory;
import org.kverbs.internal.values.Ranges;
import org.kverbs.spi.CompletionExtras;

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
 * <p>For one thread at a time. Filling and reading a batch allocates nothing, except that the first poll of a queue
 * with further fields ({@link CompletionQueueOptions#fields}) allocates their memory.
 */
public final class WorkCompletions {

    private final MemorySegment memory;
    private final long address;
    private final int capacity;
    private final WorkCompletion view;
    /** The fields of each completion beyond {@code struct ibv_wc}; null until a queue with such fields is polled. */
    private @Nullable MemorySegment extras;

    private int count;

    /**
     * Makes an empty batch.
     *
     * @param capacity the largest number of completions that one poll takes
     */
    public WorkCompletions(int capacity) {
        this.capacity = Ranges.require("capacity", capacity, 1, 1 << 20);
        memory = Arena.ofAuto().allocate((long) capacity * IbvWc.SIZE, JAVA_LONG.byteAlignment());
        address = memory.address();
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

    /**
     * Notes what a poll put into this batch.
     *
     * @param fields the fields beyond {@code struct ibv_wc}, a mask of {@code enum ibv_create_cq_wc_flags}
     */
    void fill(int newCount, int fields) {
        count = newCount;
        view.extraFields(fields);
    }

    long address() {
        return address;
    }

    /** Returns the address of the array of {@link CompletionExtras}, which the first call allocates. */
    long extrasAddress() {
        MemorySegment there = extras;
        if (there == null) {
            there = Arena.ofAuto().allocate((long) capacity * CompletionExtras.SIZE, JAVA_LONG.byteAlignment());
            extras = there;
            view.extras(there);
        }
        return there.address();
    }

    /** Copies completions of another batch to the start of this one. */
    void copyFrom(WorkCompletions other, int first, int size, int fields) {
        try {
            Memory.copy(
                    other.address() + (long) first * IbvWc.SIZE, memory.address(), (long) size * IbvWc.SIZE);
            if (fields != 0) {
                Memory.copy(
                        other.extrasAddress() + (long) first * CompletionExtras.SIZE,
                        extrasAddress(),
                        (long) size * CompletionExtras.SIZE);
            }
        } finally {
            Reference.reachabilityFence(other);
        }
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
