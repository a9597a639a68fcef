package org.kverbs.coroutines

import kotlinx.coroutines.Job
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
        budget.acquire(arrival.budget)
        share?.take(arrival.budget.toLong())
        // Messages that are dropped need not be read: the sender is told that they were.
        val bytes = if (link.inbox.isDropping) null else transfers.read(memory)
        link.debts.oweDone(id)
        if (bytes == null || !link.inbox.complete(arrival, bytes)) release(arrival)
        link.outbox.sayWhatIsDue()
    }

    /** The channel has ended. */
    fun end(): Unit = job.cancel()

    /** A message that was fetched has gone. */
    fun release(arrival: ChannelArrival) {
        if (arrival.budget == 0) return // a short message
        share?.giveBack(arrival.budget.toLong())
        budget.release(arrival.budget)
    }
}
