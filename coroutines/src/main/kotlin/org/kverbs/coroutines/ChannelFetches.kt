package org.kverbs.coroutines

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.Job
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.withContext
import org.kverbs.RemoteMemory
import kotlin.coroutines.Continuation
import kotlin.coroutines.startCoroutine

/**
 * Reads large messages out of the peer's memory as soon as they are announced, so that the peer's sender waits for no
 * receiver. Messages that were read and not received have at most [MessageChannelBuilder.fetchAhead] bytes together; a
 * longer one is read when it is alone.
 */
internal class ChannelFetches(
    private val link: ChannelLink,
    private val transfers: RemoteTransfers,
) {
    private val most = link.settings.fetchAhead
    private val share = link.settings.memoryShare

    /** Bytes that more messages may have. They wait for it in their order. */
    private val budget = Credits(most)

    /** Ends with the channel, and with it what waits. */
    private val job = Job()

    /** Ends when nobody wants messages any more, and with it the waits for room. */
    private val wanted = Job(job)

    /**
     * A message was announced. Goes on in the threads that resume it, which are the polling thread and those of
     * receivers.
     */
    fun begin(
        id: Int,
        memory: RemoteMemory,
    ) {
        val arrival = ChannelArrival(memory.length(), null, memory.length().coerceIn(1, most.toLong()).toInt())
        link.inbox.add(arrival)
        val fetch: suspend () -> Unit = { fetch(arrival, id, memory) }
        fetch.startCoroutine(Continuation(job) { it.exceptionOrNull()?.let(link::fail) })
    }

    private suspend fun fetch(
        arrival: ChannelArrival,
        id: Int,
        memory: RemoteMemory,
    ) {
        // Messages that are dropped need not be read: the sender is told that they were.
        if (!link.inbox.isDropping && hasRoom(arrival)) {
            val bytes = transfers.read(memory)
            if (!link.inbox.complete(arrival, bytes)) release(arrival)
        }
        link.debts.oweDone(id)
        link.outbox.sayWhatIsDue()
    }

    /** Suspends until there is room; false if messages are dropped before. */
    private suspend fun hasRoom(arrival: ChannelArrival): Boolean {
        var isBudgeted = false
        var isShared = false
        try {
            withContext(wanted) {
                budget.acquire(arrival.budget)
                isBudgeted = true
                share?.take(arrival.budget.toLong())
                isShared = true
            }
            return true
        } catch (_: CancellationException) {
            job.ensureActive()
            if (isShared) share?.giveBack(arrival.budget.toLong())
            if (isBudgeted) budget.release(arrival.budget)
            return false
        }
    }

    /** Messages are dropped from now on: those that wait for room need none. */
    fun drop(): Unit = wanted.cancel()

    /** The channel has ended. */
    fun end(): Unit = job.cancel()

    /** A message that was fetched has gone. */
    fun release(arrival: ChannelArrival) {
        if (arrival.budget == 0) return // a short message
        share?.giveBack(arrival.budget.toLong())
        budget.release(arrival.budget)
    }
}
