package org.kverbs.internal;

/**
 * Lends a queue pair's own lists of send requests, so that an inline builder allocates none. A lent list delays neither
 * other posts nor a close, even if its borrower never returns it.
 *
 * @param <L> the list, {@code org.kverbs.SendRequests}
 */
public interface Posting<L> {

    /** From a {@code org.kverbs.QueuePair} to its lists. */
    Door<Posting<?>> DOOR = new Door<>();

    /**
     * Lends an empty list to the calling thread, which ends with {@link #finish} or {@link #abandon}.
     *
     * @throws IllegalStateException if the queue pair is closed
     */
    L begin();

    /** Posts what stands in the list, and takes the list back. */
    void finish(L list);

    /** Takes the list back and posts nothing. */
    void abandon(L list);
}
