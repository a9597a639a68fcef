package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.IbvCqInitAttrEx;
import org.kverbs.internal.abi.IbvCqWcFlagSets;

/**
 * What a completion queue is made from.
 *
 * @param entries room for at least so many completions; more than that unpolled breaks the queue (overrun)
 * @param channel where it announces completions, or null for a queue that is only polled
 * @param vector which of the context's completion vectors (interrupts) serves it, from 0
 * @param extended whether it is made by {@code ibv_create_cq_ex} and polled field by field ({@code ibv_start_poll}),
 *     for a driver that has only these or does better by them; it is used like any other, and costs a call into the
 *     driver for each field
 */
public record CompletionQueueAttributes(int entries, @Nullable CompletionChannel channel, int vector,
        boolean extended) {

    /** A queue that isn't extended. */
    public CompletionQueueAttributes(int entries, @Nullable CompletionChannel channel, int vector) {
        this(entries, channel, vector, false);
    }

    /** A queue that is only polled, on vector 0. */
    public static CompletionQueueAttributes of(int entries) {
        return new CompletionQueueAttributes(entries, null, 0);
    }

    /** A queue that announces completions on a channel, on vector 0. */
    public static CompletionQueueAttributes of(int entries, CompletionChannel channel) {
        return new CompletionQueueAttributes(entries, channel, 0);
    }

    /** The same, extended. */
    public CompletionQueueAttributes asExtended() {
        return new CompletionQueueAttributes(entries, channel, vector, true);
    }

    /** Writes {@code struct ibv_cq_init_attr_ex}, for completions of all that {@code struct ibv_wc} has. */
    void writeTo(MemorySegment init) {
        init.set(JAVA_INT, IbvCqInitAttrEx.CQE, entries);
        init.set(JAVA_LONG, IbvCqInitAttrEx.CHANNEL, channel == null ? 0 : channel.handle());
        init.set(JAVA_INT, IbvCqInitAttrEx.COMP_VECTOR, vector);
        init.set(JAVA_LONG, IbvCqInitAttrEx.WC_FLAGS, IbvCqWcFlagSets.IBV_WC_STANDARD_FLAGS);
    }
}
