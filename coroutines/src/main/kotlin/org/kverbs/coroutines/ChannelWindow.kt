package org.kverbs.coroutines

import java.util.concurrent.atomic.AtomicInteger

/** What the peer can take: its receive slots as credits, and its limits. */
internal class ChannelWindow(
    hello: ChannelHello,
    ownSlotSize: Int,
) {
    /** The longest body that fits into a slot of both sides. */
    val eagerLimit = minOf(hello.slotSize, ownSlotSize) - ChannelMessage.HEADER
    val maxMessage = hello.maxMessage
    val credits = Credits(hello.receiveSlots)
    private val used = AtomicInteger()

    /** How many messages that cost a credit were posted. */
    @Volatile
    var sent = 0L
        private set

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
