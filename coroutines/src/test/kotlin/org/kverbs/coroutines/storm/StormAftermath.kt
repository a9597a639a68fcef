package org.kverbs.coroutines.storm

import kotlinx.coroutines.delay
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.WorkCompletionException
import org.kverbs.WorkRequestException
import org.kverbs.coroutines.PolledQueue
import kotlin.random.Random

/** What a storm must not leave: messages that were acknowledged and never came, buffers, waits and room that were never given back. */
class StormAftermath(
    private val storm: Storm,
) {
    private val ledger = storm.ledger

    /** Links that were whole to the end: of those, every message was found. */
    var whole = 0
        private set

    suspend fun check(replaced: List<StormNode>) {
        val links = storm.lanes.map { it.link() }
        val queues = links.flatMap { listOf(it.client.qp.sends.polled, it.client.qp.receives.polled) }.toSet()
        if (queues.size != 1) ledger.violation("the client's links are on ${queues.size} completion queues, not on one")
        for (link in links) {
            if (drained(link, link.client, link.server) && drained(link, link.server, link.client)) whole++
            link.end()
        }
        for (node in replaced + storm.servers + storm.client) returned(node)
        forgotten(queues.first())
    }

    /** Takes what was sent and nobody took. False if the link broke in the last moment. */
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
        if (lost.isNotEmpty()) ledger.violation("${lost.size} messages were acknowledged and never came, such as ${StormId(lost.first())}")
        return true
    }

    /** All buffers are back, though some were pinned when they were closed. */
    private suspend fun returned(node: StormNode) {
        withTimeoutOrNull(WAIT_MILLIS) { while (node.pool.taken > 0) delay(1) }
        if (node.pool.taken != 0 || node.pool.waiting != 0) ledger.violation("not all buffers came back: ${node.pool}")
    }

    /**
     * All the room in the completion queue is free in the end: giving it back is the last step of a queue of requests, so all of them have
     * ended. That takes as many rounds of the polling thread as there are completions left of those that were closed.
     */
    private suspend fun forgotten(queue: PolledQueue) {
        withTimeoutOrNull(WAIT_MILLIS) { while (!queue.reserve(queue.cq.entries())) delay(1) }
            ?: ledger.violation("room in the completion queue was not given back")
    }

    private companion object {
        const val WAIT_MILLIS = 30_000L
    }
}
