package org.kverbs.coroutines

/**
 * Describes the send queue of an [AsyncQueuePair] at one moment; see [AsyncQueuePair.stats]. The figures are read one
 * after the other while the queue works.
 *
 * @property capacity number of requests that the queue takes at once
 * @property pending number of requests that were posted, or are about to be, and have not completed
 * @property waiting number of callers that wait for room in the queue
 */
public data class AsyncQueuePairStats(
    public val capacity: Int,
    public val pending: Int,
    public val waiting: Int,
)
