package org.kverbs.coroutines

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.Job
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.withContext
import org.kverbs.RemoteMemory
import kotlin.coroutines.Continuation
import kotlin.coroutines.startCoroutine

/**
 * Reads large messages from the peer's memory when the peer announces them, so that the peer's sender does not wait for
 * a receiver. Messages that were read and not received have at most [MessageChannelBuilder.fetchAhead] bytes together;
 * a longer message is read when the channel holds no other.
 */
internal class ChannelFetches(
    private val link: ChannelLink,
    private val transfers: RemoteTransfers,
) {
    private val most = link.settings.fetchAhead
    private val share = link.settings.memoryShare

    /** The bytes of [most] that are free. Messages wait for them in their order. */
    private val budget = Credits(most)

    /** Ends with the channel; its end cancels all waits. */
    private val job = Job()

    /** Ends when messages are dropped; its end cancels the waits for free bytes. */
    private val wanted = Job(job)

    /**
     * Begins to read an announced message. The read continues on the threads that resume it: the polling thread and the
     * threads of receivers.
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
        // Dropped messages are not read; the sender gets its DONE all the same.
        if (!link.inbox.isDropping && hasRoom(arrival)) {
            val bytes = transfers.read(memory)
            if (!link.inbox.complete(arrival, bytes)) release(arrival)
        }
        link.debts.oweDone(id)
        link.outbox.sayWhatIsDue()
    }

    /** Suspends until enough bytes are free; false if messages are dropped before. */
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

    /** Drops messages from now on: cancels the waits for free bytes. */
    fun drop(): Unit = wanted.cancel()

    /** Cancels everything, as the channel has ended. */
    fun end(): Unit = job.cancel()

    /** Frees the bytes of a message that was received or dropped. */
    fun release(arrival: ChannelArrival) {
        if (arrival.budget == 0) return // a short message
        share?.giveBack(arrival.budget.toLong())
        budget.release(arrival.budget)
    }
}
