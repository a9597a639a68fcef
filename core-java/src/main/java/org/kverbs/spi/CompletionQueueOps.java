package org.kverbs.spi;

/** The data path of a completion queue, which never allocates. */
public interface CompletionQueueOps {

    /**
     * Takes up to {@code count} completions ({@code ibv_poll_cq}).
     *
     * @param completions address of an array of {@code struct ibv_wc}
     * @return how many were written, 0 if the queue is empty, or below zero if it is broken (overrun)
     */
    int poll(int count, long completions);

    /**
     * Says that a queue pair of this queue posts by extended calls ({@code man 3 ibv_wr_post}), before its first post
     * and while no thread polls. A driver may hold a lock of the queue pair between these calls, and take it in a poll.
     */
    default void expectExtendedPosts() {}

    /**
     * Asks for one event on the queue's channel at the next completion ({@code ibv_req_notify_cq}).
     *
     * @param solicitedOnly only for a solicited message or an error
     * @return 0 or -errno
     */
    int requestNotify(boolean solicitedOnly);
}
