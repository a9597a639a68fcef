package org.kverbs.coroutines

import java.util.concurrent.atomic.AtomicInteger

/**
 * Collects what this side owes the peer: a first message, credits, DONE for large messages, answers, and the close. Any
 * thread can call.
 */
internal class ChannelDebts(
    private val receiveSlots: Int,
) {
    private val threshold = (receiveSlots + 1) / 2
    private val credits = AtomicInteger()

    /** Number of messages that have arrived and whose credit was not returned. */
    private val kept = AtomicInteger()
    private var counted = 0L

    /** Number of messages that cost the peer a credit: what it has counted as sent. */
    val arrivals: Long
        get() {
            kept.get() // the polling thread changes it after each count: a read of it makes the count visible here
            return counted
        }

    private val done = ArrayDeque<Int>()
    private var first = false
    private var answer = false

    /** The kind of the message that tells the close; 0 while none is due. */
    private var close = 0

    /** The next message to send that needs no credit. */
    class Due(
        val kind: Int,
        val credits: Int,
        val id: Int,
    )

    /** Counts a message that cost the peer a credit. Only the polling thread calls it. */
    fun arrived() {
        counted++
        if (kept.incrementAndGet() > receiveSlots) {
            throw ChannelProtocolException(
                "the peer sent more messages than the $receiveSlots for which it has credits",
            )
        }
    }

    /** Owes the peer a credit for a free slot. */
    fun oweCredit() {
        credits.incrementAndGet()
    }

    /** Owes the peer a DONE for a large message that was read. */
    @Synchronized
    fun oweDone(id: Int) {
        done.addLast(id)
    }

    /** Owes the peer an ANSWER to its LOOKUP. */
    @Synchronized
    fun oweAnswer() {
        if (answer) throw ChannelProtocolException("the peer asked again before it was answered")
        answer = true
    }

    /** Owes the peer a first message, which the peer waits for before it sends. */
    @Synchronized
    fun oweFirst() {
        first = true
    }

    /** @param kind [ChannelMessage.CLOSE] or [ChannelMessage.LEAVE] */
    @Synchronized
    fun oweClose(kind: Int) {
        close = kind
    }

    /** Takes all credits that are owed, for a message that is being sent. */
    fun takeCredits(): Int = credits.getAndSet(0).also { kept.addAndGet(-it) }

    private fun takeManyCredits(): Int {
        while (true) {
            val now = credits.get()
            if (now < threshold) return 0
            if (credits.compareAndSet(now, 0)) {
                kept.addAndGet(-now)
                return now
            }
        }
    }

    /** True if [take] can find something. */
    val isDue: Boolean
        @Synchronized get() = close != 0 || first || answer || done.isNotEmpty() || credits.get() >= threshold

    /**
     * Takes the next message to send, or null. Credits alone are due only if they are half of all, so that few CREDIT
     * messages are under way.
     */
    @Synchronized
    fun take(): Due? {
        if (close != 0) return Due(close, 0, 0).also { close = 0 }
        if (first) {
            first = false
            return Due(ChannelMessage.CREDIT, takeCredits(), 0)
        }
        if (answer) {
            answer = false
            return Due(ChannelMessage.ANSWER, takeCredits(), 0)
        }
        if (done.isNotEmpty()) return Due(ChannelMessage.DONE, takeCredits(), done.removeFirst())
        val many = takeManyCredits()
        return if (many > 0) Due(ChannelMessage.CREDIT, many, 0) else null
    }
}
