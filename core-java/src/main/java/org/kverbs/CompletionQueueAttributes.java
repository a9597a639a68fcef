package org.kverbs;

import org.jspecify.annotations.Nullable;

/**
 * What a completion queue is made from.
 *
 * @param entries room for at least so many completions; more than that unpolled breaks the queue (overrun)
 * @param channel where it announces completions, or null for a queue that is only polled
 * @param vector which of the context's completion vectors (interrupts) serves it, from 0
 */
public record CompletionQueueAttributes(int entries, @Nullable CompletionChannel channel, int vector) {

    /** A queue that is only polled, on vector 0. */
    public static CompletionQueueAttributes of(int entries) {
        return new CompletionQueueAttributes(entries, null, 0);
    }

    /** A queue that announces completions on a channel, on vector 0. */
    public static CompletionQueueAttributes of(int entries, CompletionChannel channel) {
        return new CompletionQueueAttributes(entries, channel, 0);
    }
}
