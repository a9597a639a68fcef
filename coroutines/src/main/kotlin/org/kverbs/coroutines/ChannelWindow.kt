package org.kverbs.coroutines

import kotlinx.coroutines.CompletableDeferred
import org.kverbs.QueuePair
import java.util.concurrent.atomic.AtomicInteger

/**
 * Tracks what the peer can take: its receive slots as credits, and its limits.
 *
 * @param listens true if nothing can be sent before [open]
 * @param queuePair names the channel in the slow waits of Flight Recorder; null to record none
 */
internal class ChannelWindow(
    hello: ChannelHello,
    ownSlotSize: Int,
    listens: Boolean,
    queuePair: QueuePair? = null,
) {
    /** The longest body that fits into a slot of both sides. */
    val eagerLimit = minOf(hello.slotSize, ownSlotSize) - ChannelMessage.HEADER
    val maxMessage = hello.maxMessage
    private val slots = hello.receiveSlots
    val credits = Credits(hello.receiveSlots, "credit of the peer", queuePair)
    private val opening = if (listens) CompletableDeferred<Unit>() else null
    private val used = AtomicInteger()

    /** Number of posted messages that cost a credit. */
    @Volatile
    var sent = 0L
        private set

    init {
        if (listens) credits.take(hello.receiveSlots)
    }

    /** True if this side can send. */
    val isOpen: Boolean get() = opening?.isCompleted ?: true

    /** Lets this side send, as the peer has sent something. Can be called any number of times. */
    fun open() {
        if (opening?.wake(Unit) == true) credits.release(slots)
    }

    /** Suspends until this side can send, for messages that cost no credit. */
    suspend fun awaitOpen() {
        opening?.await()
    }

    /** Ends all waits, now and from now on, with [cause]. */
    fun fail(cause: Throwable) {
        opening?.fail(cause)
        credits.fail(cause)
    }

    /**
     * Counts a message that is about to be posted and costs a credit, which the caller holds. Called under the send
     * queue's lock.
     */
    fun use() {
        used.incrementAndGet()
        sent++
    }

    /** Takes credits that the peer gave back. */
    fun returned(count: Int) {
        if (used.addAndGet(-count) < 0) {
            throw ChannelProtocolException("the peer gave back $count credits, ${-used.get()} more than were used")
        }
        credits.release(count)
    }
}
