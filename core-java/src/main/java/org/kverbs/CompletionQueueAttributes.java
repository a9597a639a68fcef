package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.CompletionField;
import org.kverbs.internal.abi.IbvCqInitAttrEx;

/**
 * The parameters of a new completion queue.
 *
 * @param entries the least number of completions that the queue has room for; if more are left unpolled, the queue
 *     overruns and breaks
 * @param channel the channel on which the queue announces completions, or null for a queue that is only polled
 * @param vector the completion vector (interrupt) of the context that serves the queue, from 0
 * @param extended whether the queue is made by {@code ibv_create_cq_ex} and polled field by field ({@code
 *     ibv_start_poll}). Choose this for a driver that has only these calls or is faster with them. Programs use the
 *     queue like any other; each field of a completion costs a call into the driver. A queue with options is extended
 * @param options further fields of completions, and how the program uses the queue
 */
public record CompletionQueueAttributes(
        int entries,
        @Nullable CompletionChannel channel,
        int vector,
        boolean extended,
        CompletionQueueOptions options) {

    /** Sets {@link #extended} if there are options. */
    public CompletionQueueAttributes {
        extended |= !options.isNone();
    }

    /** Makes the parameters of a queue without options. */
    public CompletionQueueAttributes(
            int entries, @Nullable CompletionChannel channel, int vector, boolean extended) {
        this(entries, channel, vector, extended, CompletionQueueOptions.NONE);
    }

    /** Makes the parameters of a queue that is not extended. */
    public CompletionQueueAttributes(int entries, @Nullable CompletionChannel channel, int vector) {
        this(entries, channel, vector, false);
    }

    /** Returns the parameters of a queue that is only polled, on vector 0. */
    public static CompletionQueueAttributes of(int entries) {
        return new CompletionQueueAttributes(entries, null, 0);
    }

    /** Returns the parameters of a queue that announces completions on a channel, on vector 0. */
    public static CompletionQueueAttributes of(int entries, CompletionChannel channel) {
        return new CompletionQueueAttributes(entries, channel, 0);
    }

    /** Returns a copy with {@link #extended} set. */
    public CompletionQueueAttributes asExtended() {
        return new CompletionQueueAttributes(entries, channel, vector, true, options);
    }

    /** Returns a copy with other options. */
    public CompletionQueueAttributes with(CompletionQueueOptions newOptions) {
        return new CompletionQueueAttributes(entries, channel, vector, extended, newOptions);
    }

    /** Returns a copy whose completions have these fields, too. */
    public CompletionQueueAttributes with(CompletionField... fields) {
        return with(options.with(fields));
    }

    /**
     * Writes {@code struct ibv_cq_init_attr_ex} for completions with every field of {@code struct ibv_wc}, and those of
     * the options.
     */
    void writeTo(MemorySegment init) {
        init.set(JAVA_INT, IbvCqInitAttrEx.CQE, entries);
        init.set(JAVA_LONG, IbvCqInitAttrEx.CHANNEL, channel == null ? 0 : channel.handle());
        init.set(JAVA_INT, IbvCqInitAttrEx.COMP_VECTOR, vector);
        options.writeTo(init);
    }
}
