package org.kverbs.coroutines

import java.util.concurrent.atomic.AtomicInteger

/**
 * What is to be said to the peer: a first word, credits, that its large messages were read, answers, and the close. Any
 * thread.
 */
internal class ChannelDebts(
    private val receiveSlots: Int,
) {
    private val threshold = (receiveSlots + 1) / 2
    private val credits = AtomicInteger()

    /** Messages that came and whose credit hasn't gone back. */
    private val kept = AtomicInteger()
    private val done = ArrayDeque<Int>()
    private var first = false
    private var answer = false
    private var close = false

    /** What comes next without a credit of its own. */
    class Due(
        val kind: Int,
        val credits: Int,
        val id: Int,
    )

    /** A message came that cost the peer a credit. */
    fun arrived() {
        if (kept.incrementAndGet() > receiveSlots) {
            throw ChannelProtocolException(
                "the peer sent more messages than the $receiveSlots for which it has credits",
            )
        }
    }

    /** A slot is free again. */
    fun oweCredit() {
        credits.incrementAndGet()
    }

    /** A large message has been read. */
    @Synchronized
    fun oweDone(id: Int) {
        done.addLast(id)
    }

    /** The peer asked what this side has published. */
    @Synchronized
    fun oweAnswer() {
        if (answer) throw ChannelProtocolException("the peer asked again before it was answered")
        answer = true
    }

    /** The peer says nothing before it has heard something. */
    @Synchronized
    fun oweFirst() {
        first = true
    }

    @Synchronized
    fun oweClose() {
        close = true
    }

    /** All the credits that are owed, for a message that goes now. */
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

    /** Whether [take] may find something. */
    val isDue: Boolean
        @Synchronized get() = close || first || answer || done.isNotEmpty() || credits.get() >= threshold

    /**
     * What must be said now, or null: credits only if they are half of all, so that few such messages are under way.
     */
    @Synchronized
    fun take(): Due? {
        if (close) {
            close = false
            return Due(ChannelMessage.CLOSE, 0, 0)
        }
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
