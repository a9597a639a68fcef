package org.kverbs.embedded.internal.transport

import io.kotest.assertions.withClue
import io.kotest.matchers.ints.shouldBeInRange
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe

/** Shows specs the state of a device that its users can't see. */
internal class Inside(
    private val hca: Hca,
) {
    val queuePairs: Int get() = hca.queuePairs.size()

    val keys: Int get() = hca.keys.count()

    fun queuePair(number: Int) = InsideQueuePair(checkNotNull(hca.queuePairs.get(number)) { "no queue pair $number" })
}

/** Shows the state of a queue pair. */
internal class InsideQueuePair(
    private val qp: Qp,
) {
    val state: Int get() = qp.state

    /** The PSN of the peer's next request. */
    val expectedPsn: Int get() = qp.responder.expectedPsn()

    /** The first PSN that the peer has not acknowledged. */
    val unacknowledged: Int get() = qp.completer.unacknowledged()

    /** The number of PSNs that were sent and not acknowledged. */
    val onTheWay: Int get() = Psn.distance(qp.requester.sentEnd(), unacknowledged)

    /** The number of sends that are not done. */
    val sends: Int get() = qp.sends.size()

    /** The number of receives that are posted here, or to the shared queue. */
    val receives: Int get() = qp.srq?.queue?.size() ?: qp.receives.own.size()

    /** Checks the invariants of a reliable queue pair's cursors, as the package description states them. */
    fun checkCursors() {
        val sends = qp.sends
        val requests = List(sends.size()) { sends.get(it) }
        val begun = requests.takeWhile { it.started }
        val all = requests.map { "${it.firstPsn}: ${it.received}-${it.sent} of ${it.psns}" }
        withClue("cursor ${sends.cursor()} of $all") {
            sends.cursor() shouldBeInRange 0..requests.size
            requests.drop(begun.size).none { it.started } shouldBe true
            requests.take(sends.cursor()).all { it.done || it.sent == it.psns } shouldBe true
            begun.all { (it.received in 0..it.sent && it.sent <= it.psns) || it.hasFailed() } shouldBe true
            begun.filter { it.psns > 0 }.zipWithNext { one, next ->
                next.firstPsn shouldBe Psn.plus(one.firstPsn, one.psns)
            }
            begun.firstOrNull()?.done shouldNotBe true
            onTheWay shouldBeInRange 0..MOST
            Psn.distance(qp.requester.nextPsn(), qp.requester.sentEnd()) shouldBeInRange 0..MOST
        }
    }
}

private const val MOST = (1 shl 23) - 1
