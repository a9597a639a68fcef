package org.kverbs.coroutines

import kotlinx.coroutines.CompletableDeferred
import java.util.concurrent.atomic.AtomicInteger

/**
 * What the peer can take: its receive slots as credits, and its limits.
 *
 * @param listens whether nothing may be sent before [open]
 */
internal class ChannelWindow(
    hello: ChannelHello,
    ownSlotSize: Int,
    listens: Boolean,
) {
    /** The longest body that fits into a slot of both sides. */
    val eagerLimit = minOf(hello.slotSize, ownSlotSize) - ChannelMessage.HEADER
    val maxMessage = hello.maxMessage
    private val slots = hello.receiveSlots
    val credits = Credits(hello.receiveSlots)
    private val opening = if (listens) CompletableDeferred<Unit>() else null
    private val used = AtomicInteger()

    /** How many messages that cost a credit were posted. */
    @Volatile
    var sent = 0L
        private set

    init {
        if (listens) credits.take(hello.receiveSlots)
    }

    /** Whether something may be sent. */
    val isOpen: Boolean get() = opening?.isCompleted ?: true

    /** The peer has said something. Any number of times. */
    fun open() {
        if (opening?.wake(Unit) == true) credits.release(slots)
    }

    /** Waits until something may be sent, for what costs no credit. */
    suspend fun awaitOpen() {
        opening?.await()
    }

    /** Ends all waits, now and from now on, with [cause]. */
    fun fail(cause: Throwable) {
        opening?.fail(cause)
        credits.fail(cause)
    }

    /**
     * A message is about to be posted that costs a credit, which the caller has. Called under the send queue's lock.
     */
    fun use() {
        used.incrementAndGet()
        sent++
    }

    /** The peer gave credits back. */
    fun returned(count: Int) {
        if (used.addAndGet(-count) < 0) {
            throw ChannelProtocolException("the peer gave back $count credits, ${-used.get()} more than were used")
        }
        credits.release(count)
    }
}
