package org.kverbs.coroutines.storm

import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.WorkCompletionException
import org.kverbs.WorkRequestException
import org.kverbs.coroutines.PolledQueue
import org.kverbs.coroutines.receive
import org.kverbs.coroutines.sendWithImmediate
import kotlin.random.Random

/**
 * Checks what a storm must not leave behind: acknowledged messages that never arrived, and buffers, waits and queue
 * entries that were not given back.
 */
class StormAftermath(
    private val storm: Storm,
    private val random: Random,
) {
    private val ledger = storm.ledger

    /** Number of links that worked to the end: every message of these was found. */
    var whole = 0
        private set

    suspend fun check(replaced: List<StormNode>) {
        val links = storm.lanes.map { it.link() }
        val queues = links.flatMap { listOf(it.client.qp.sends.polled, it.client.qp.receives.polled) }.toSet()
        if (queues.size != 1) ledger.violation("the client's links are on ${queues.size} completion queues, not on one")
        for (link in links) {
            if (drained(link, link.client, link.server) && drained(link, link.server, link.client)) {
                whole++
                inOrder(link.client, link.server)
                inOrder(link.server, link.client)
            }
            link.end()
        }
        for (node in replaced + storm.servers + storm.client) returned(node)
        forgotten(queues.first())
    }

    /** Takes the messages that were sent and not received. False if the link broke in the last moment. */
    private suspend fun drained(
        link: StormLink,
        from: StormEnd,
        to: StormEnd,
    ): Boolean {
        val receiver = StormOperations(link, to, from, 0, ledger, Random(0))
        var number = 0
        try {
            while (!from.delivered.containsAll(from.acknowledged)) {
                withTimeoutOrNull(WAIT_MILLIS) { receiver.run(StormKind.RECEIVE, StormId(0, ++number)) } ?: break
            }
        } catch (_: WorkCompletionException) {
            return false
        } catch (_: WorkRequestException) {
            return false
        } catch (_: IllegalStateException) {
            return false
        }
        val lost = from.acknowledged - from.delivered
        if (lost.isNotEmpty()) {
            ledger.violation(
                "${from.sent.size} sent, ${from.acknowledged.size} acknowledged, ${from.delivered.size} delivered: " +
                    "${lost.size} messages were acknowledged and never came, such as ${StormId(lost.first())}; " +
                    "$number receives after the storm; ${to.qp.receives} in ${to.qp.queuePair.state()}, " +
                    "the sender in ${from.qp.queuePair.state()}, ${to.node.pool}, " +
                    "${to.node.dispatcher.stats}" + storm.dump(),
            )
        }
        return true
    }

    /**
     * Checks that waiting receivers get the messages in order and at once, whichever of them were cancelled. The storm
     * itself cannot see this: its receivers wait 50 ms, and a receiver that was passed over is then cancelled like
     * others.
     */
    private suspend fun inOrder(
        from: StormEnd,
        to: StormEnd,
    ) {
        try {
            overtake(from, to)
            coroutineScope {
                val receivers = List(RECEIVERS) { async(start = CoroutineStart.UNDISPATCHED) { immediate(to) } }
                val (gone, left) = receivers.partition { random.nextBoolean() }
                gone.forEach { it.cancelAndJoin() }
                for (i in left.indices) from.qp.sendWithImmediate(i)
                val came = withTimeoutOrNull(WAIT_MILLIS) { left.awaitAll() }
                if (came != left.indices.toList()) ledger.violation("receivers got $came, in the order of their calls")
                left.forEach { it.cancel() }
            }
        } catch (_: WorkCompletionException) {
            // The link broke in the last moment.
        } catch (_: IllegalStateException) {
            // The device broke in the last moment.
        }
    }

    private suspend fun immediate(to: StormEnd): Int? =
        to.node.pool.take(StormNode.BUFFER).use {
            to.qp.receive(it).immediate
        }

    /** Takes the messages of cancelled senders, which come before this one. */
    private suspend fun overtake(
        from: StormEnd,
        to: StormEnd,
    ): Unit =
        coroutineScope {
            launch { from.qp.sendWithImmediate(Int.MIN_VALUE) }
            do {
                val came = immediate(to)
            } while (came != Int.MIN_VALUE)
        }

    /** Checks that all buffers are back, although some were pinned when they were closed. */
    private suspend fun returned(node: StormNode) {
        withTimeoutOrNull(WAIT_MILLIS) { while (node.pool.taken > 0) delay(1) }
        if (node.pool.taken != 0 || node.pool.waiting != 0) ledger.violation("not all buffers came back: ${node.pool}")
    }

    /**
     * Checks that all entries of the completion queue are free in the end: a queue of requests gives its entries back
     * in its last step, so all of them have ended. This takes as many rounds of the polling thread as there are
     * completions left of closed queue pairs.
     */
    private suspend fun forgotten(queue: PolledQueue) {
        withTimeoutOrNull(WAIT_MILLIS) { while (!queue.reserve(queue.cq.entries())) delay(1) }
            ?: ledger.violation("room in the completion queue was not given back")
    }

    private companion object {
        const val RECEIVERS = 8
        const val WAIT_MILLIS = 30_000L
    }
}
