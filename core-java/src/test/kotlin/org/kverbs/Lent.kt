package org.kverbs

import org.kverbs.internal.Posting

/** A list that a queue pair lends its inline builders, which are those of the DSL. */
@Suppress("UNCHECKED_CAST")
internal class Lent(
    queuePair: QueuePair,
) {
    private val lists = Posting.DOOR.of(queuePair) as Posting<SendRequests>
    val list: SendRequests = lists.begin()

    fun finish() = lists.finish(list)

    fun abandon() = lists.abandon(list)
}
