package org.kverbs.spi;

/** The data path of a completion queue. Its methods allocate nothing. */
public interface CompletionQueueOps {

    /**
     * Takes up to {@code count} completions ({@code ibv_poll_cq}).
     *
     * @param completions the address of an array of {@code struct ibv_wc}
     * @return the number of completions written, 0 if the queue is empty, or a negative number if the queue is broken
     *     (overrun)
     */
    int poll(int count, long completions);

    /**
     * Does the same, and writes the fields that the queue was made with and that {@code struct ibv_wc} does not have.
     *
     * @param extras the address of an array of {@link CompletionExtras}, one for each completion
     */
    default int poll(int count, long completions, long extras) {
        return poll(count, completions);
    }

    /**
     * Tells whether {@link #poll(int, long)} is a call of a few nanoseconds. The caller keeps such polls in methods of
     * their own, since the JIT compiles a method by the queues that it saw there first. The answer never changes.
     */
    default boolean isShort() {
        return false;
    }

    /**
     * Tells the queue that one of its queue pairs posts by extended calls ({@code man 3 ibv_wr_post}). The caller calls
     * this before the first such post and while no thread polls. A driver can hold a lock of the queue pair between
     * extended calls and take the same lock in a poll.
     */
    default void expectExtendedPosts() {}

    /**
     * Requests one event on the queue's channel at the next completion ({@code ibv_req_notify_cq}).
     *
     * @param solicitedOnly whether only a solicited message or an error raises the event
     * @return 0 or -errno
     */
    int requestNotify(boolean solicitedOnly);
}
