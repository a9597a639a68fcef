package org.kverbs.embedded.internal.transport

/** What specs may know of a device that its users can't see. */
internal class Inside(
    private val hca: Hca,
) {
    val queuePairs: Int get() = hca.queuePairs.size()

    val keys: Int get() = hca.keys.count()

    fun queuePair(number: Int) = InsideQueuePair(checkNotNull(hca.queuePairs.get(number)) { "no queue pair $number" })
}

/** A queue pair from within. */
internal class InsideQueuePair(
    private val qp: Qp,
) {
    val state: Int get() = qp.state

    /** The PSN of the next request of the peer. */
    val expectedPsn: Int get() = qp.responder.expectedPsn()

    /** The first PSN that the peer has not acknowledged. */
    val unacknowledged: Int get() = qp.requester.unacknowledged

    /** PSNs that were sent and not acknowledged. */
    val onTheWay: Int get() = Psn.distance(qp.requester.sentEnd, qp.requester.unacknowledged)

    /** Sends that are not done. */
    val sends: Int get() = qp.sends.size()

    /** Receives that are posted here, or to the shared queue. */
    val receives: Int get() = qp.srq?.queue?.size() ?: qp.receives().size()
}
