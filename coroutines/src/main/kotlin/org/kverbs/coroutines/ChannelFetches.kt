package org.kverbs.coroutines

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.Job
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.withContext
import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionException
import kotlin.coroutines.Continuation
import kotlin.coroutines.startCoroutine

/**
 * Reads large messages from the peer's memory: ahead of receivers, so that the peer's sender does not wait for one, or
 * into the buffer of a receiver. Messages that were read ahead have at most [MessageChannelBuilder.fetchAhead] bytes
 * together; a longer message is read when the channel holds no other. If it is 0, a message is read ahead only for a
 * receiver without a buffer.
 */
internal class ChannelFetches(
    private val link: ChannelLink,
    private val transfers: RemoteTransfers,
) {
    private val most = maxOf(1, link.settings.fetchAhead)
    private val share = link.settings.memoryShare

    /** The bytes of [most] that are free. Messages wait for them in their order. */
    private val budget = Credits(most)

    /** Ends with the channel; its end cancels all waits. */
    private val job = Job()

    /** Ends when messages are dropped; its end cancels the waits for free bytes. */
    private val wanted = Job(job)

    /** Takes the announcement of a message. */
    fun announced(
        id: Int,
        memory: RemoteMemory,
    ): Unit = link.inbox.add(ChannelArrival(memory, id, memory.length().coerceIn(1, most.toLong()).toInt()))

    /**
     * Begins to read a message of the inbox into an array. The read continues on the threads that resume it: the
     * polling thread and the threads of receivers.
     */
    fun begin(arrival: ChannelArrival) {
        val fetch: suspend () -> Unit = { fetch(arrival) }
        fetch.startCoroutine(Continuation(job) { it.exceptionOrNull()?.let(link::fail) })
    }

    private suspend fun fetch(arrival: ChannelArrival) {
        val bytes = arrival.budget
        val length = arrival.length
        if (!hasRoom(bytes, length)) return
        if (!link.inbox.claim(arrival, bytes)) return release(bytes, length) // a receiver reads it, or it was dropped
        val message = transfers.read(checkNotNull(arrival.source))
        if (!link.inbox.complete(arrival, message)) release(bytes, length)
        done(arrival)
    }

    /**
     * Tells the peer that a message is not wanted. The device can still read it for a receiver that was cancelled; then
     * the peer is told behind that read, because it frees the memory.
     */
    fun dropped(arrival: ChannelArrival) {
        if (arrival.budget > 0) return done(arrival)
        val tell: suspend () -> Unit = {
            link.keepAlive.ask("whether it has answered earlier reads")
            done(arrival)
        }
        tell.startCoroutine(Continuation(job) {}) // a failure has ended the channel
    }

    /** Tells the peer that a message was read, or is not wanted. */
    private fun done(arrival: ChannelArrival) {
        link.debts.oweDone(arrival.id)
        link.outbox.sayWhatIsDue()
    }

    /**
     * Reads a message that [ChannelInbox.take] has given to the caller while it lay at the peer. If that fails or is
     * cancelled, the inbox has it again.
     */
    suspend fun read(
        arrival: ChannelArrival,
        into: RegisteredBuffer,
    ) {
        var isRead = false
        try {
            transfers.read(checkNotNull(arrival.source), into)
            isRead = true
        } catch (e: WorkCompletionException) {
            link.fail(e)
            throw e
        } finally {
            if (!isRead) link.inbox.putBack(arrival)
        }
        link.inbox.received(arrival)
    }

    /**
     * Suspends until [bytes] of the budget are free, and [length] bytes of the server's memory; false if messages are
     * dropped before.
     */
    private suspend fun hasRoom(
        bytes: Int,
        length: Long,
    ): Boolean {
        if (bytes == 0) return true
        var isBudgeted = false
        var isShared = false
        try {
            withContext(wanted) {
                budget.acquire(bytes)
                isBudgeted = true
                share?.take(length)
                isShared = true
            }
            return true
        } catch (_: CancellationException) {
            job.ensureActive()
            if (isShared) share?.giveBack(length)
            if (isBudgeted) budget.release(bytes)
            return false
        }
    }

    /** Drops messages from now on: cancels the waits for free bytes. */
    fun drop(): Unit = wanted.cancel()

    /** Cancels everything, as the channel has ended. */
    fun end(): Unit = job.cancel()

    /** Frees what the fetch of a message of this [length] holds, if it holds [bytes] of the budget. */
    fun release(
        bytes: Int,
        length: Long,
    ) {
        if (bytes == 0) return
        share?.giveBack(length)
        budget.release(bytes)
    }
}
