package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.suspendCancellableCoroutine

/**
 * Queues the messages that have arrived. When the first message is complete, the inbox wakes the receiver that has
 * waited longest. The receiver takes the message when it runs; until then no other receiver takes one. A cancelled
 * receiver leaves the message to the next one. Any thread can call; receivers are woken outside the lock.
 *
 * @param onGone called when a message has left the inbox, taken or dropped
 */
internal class ChannelInbox(
    private val onGone: (ChannelArrival) -> Unit,
) {
    /** A receiver that waits for the first message. */
    internal fun interface Receiver {
        /**
         * Gives the first message, or the end, to the receiver, which calls [takeAs]. False if the receiver no longer
         * waits.
         */
        fun wake(): Boolean
    }

    private class Waiting : Receiver {
        lateinit var continuation: CancellableContinuation<Unit>
        lateinit var release: (Waiting) -> Unit

        override fun wake(): Boolean {
            continuation.resume(Unit) { _, _, _ -> release(this) }
            return true
        }
    }

    private val lock = Any()
    private val arrivals = ArrayDeque<ChannelArrival>()
    private val receivers = ArrayDeque<Receiver>()

    /** The receiver that was woken and has not taken its message yet. */
    private var holder: Receiver? = null
    private var ended = false
    private var peerHasFinished = false
    private var dropping = false

    /**
     * The failure that ended the messages; null while they come, and after the peer's last message. Each receiver
     * throws an exception of its own made from it.
     */
    @Volatile
    var cause: Throwable? = null
        private set

    /** Completes when the peer has sent its last message, or the channel has ended. */
    val end = CompletableDeferred<Unit>()

    /** True if messages are dropped. */
    val isDropping: Boolean get() = synchronized(lock) { dropping }

    /** Number of messages that were not taken, including those still being read from the peer's memory. */
    val size: Int get() = synchronized(lock) { arrivals.size }

    /** True if the first message is complete. */
    val hasMessage: Boolean get() = synchronized(lock) { arrivals.firstOrNull()?.bytes != null }

    /** True if there is no message, and none will come. */
    val isAtEnd: Boolean get() = synchronized(lock) { isOver }
    private val isOver get() = ended && arrivals.isEmpty()
    private val isReady get() = isOver || arrivals.firstOrNull()?.bytes != null

    fun add(arrival: ChannelArrival) {
        val dropped =
            synchronized(lock) {
                if (peerHasFinished) throw ChannelProtocolException("the peer sent a message after its end")
                if (!dropping && !ended) arrivals.addLast(arrival)
                if (dropping && !ended) cause = cause ?: dropped()
                dropping
            }
        if (dropped) onGone(arrival) else wakeNext()
    }

    /** Completes a message that was announced. False if it was dropped before. */
    fun complete(
        arrival: ChannelArrival,
        bytes: ByteArray,
    ): Boolean {
        synchronized(lock) {
            if (dropping) return false
            arrival.bytes = bytes
        }
        wakeNext()
        return true
    }

    /** Ends the messages, after the peer's last one. */
    fun finish() {
        synchronized(lock) {
            peerHasFinished = true
            ended = true
        }
        end.wake(Unit)
        wakeNext()
    }

    /**
     * Ends the messages because of a failure. Complete messages can still be taken; messages that are still being read
     * are dropped. The first end counts.
     */
    fun fail(cause: Throwable) {
        synchronized(lock) {
            val here = arrivals.indexOfFirst { it.bytes == null }
            if (here >= 0) while (arrivals.size > here) arrivals.removeLast()
            if (!ended || here >= 0) this.cause = this.cause ?: cause
            ended = true
        }
        end.wake(Unit)
        wakeNext()
    }

    /**
     * Drops the messages that have arrived and those still to come. Receivers throw [cause]; if it is null they wait
     * for the end, which is a failure if a message was dropped. Does nothing if the peer's last message was taken.
     */
    fun drop(cause: Throwable?) {
        val dropped =
            synchronized(lock) {
                if (dropping || isOver) return
                dropping = true
                if (cause != null) ended = true
                if (cause != null || arrivals.isNotEmpty()) this.cause = this.cause ?: cause ?: dropped()
                arrivals.toList().also { arrivals.clear() }
            }
        dropped.forEach(onGone)
        wakeNext()
    }

    private fun dropped() =
        ChannelClosedException(
            "this side has disconnected and dropped messages that came: receive them before disconnect()",
        )

    /** Takes the first message if it is complete and no receiver waits for it. */
    fun tryTake(fits: (Long) -> Unit = {}): ChannelArrival? {
        val taken = synchronized(lock) { if (holder == null && receivers.isEmpty()) takeFirst(fits) else null }
        if (taken != null) onGone(taken)
        return taken
    }

    private fun takeFirst(fits: (Long) -> Unit): ChannelArrival? {
        val first = arrivals.firstOrNull() ?: return null
        if (first.bytes == null) return null
        fits(first.length)
        return arrivals.removeFirst()
    }

    /**
     * Takes the next message, and suspends until it is complete. Null at the end; [cause] is the reason.
     *
     * @param fits throws if the receiver cannot use a message of this length; the next receiver gets it then
     */
    suspend fun take(fits: (Long) -> Unit = {}): ChannelArrival? {
        tryTake(fits)?.let { return it }
        val waiting = Waiting()
        waiting.release = ::release
        suspendCancellableCoroutine { continuation ->
            waiting.continuation = continuation
            val isFirst = enlist(waiting)
            continuation.invokeOnCancellation { forget(waiting) }
            if (isFirst) waiting.wake()
        }
        return takeAs(waiting, fits)
    }

    /**
     * Adds a receiver to those that wait. True if it does not need to wait: it must call [takeAs] or [release] then.
     */
    fun enlist(receiver: Receiver): Boolean =
        synchronized(lock) {
            val isFirst = holder == null && receivers.isEmpty() && isReady
            if (isFirst) holder = receiver else receivers.addLast(receiver)
            isFirst
        }

    /** Removes a receiver that no longer waits. */
    fun forget(receiver: Receiver) {
        synchronized(lock) { receivers.remove(receiver) }
    }

    /** Takes the message that the receiver was woken for. Null at the end. */
    fun takeAs(
        receiver: Receiver,
        fits: (Long) -> Unit = {},
    ): ChannelArrival? {
        val taken =
            try {
                synchronized(lock) { takeFirst(fits) }
            } finally {
                release(receiver)
            }
        if (taken != null) onGone(taken)
        return taken
    }

    /** Ends the turn of a receiver that was woken, whether it has taken its message or not. */
    fun release(receiver: Receiver) {
        synchronized(lock) { if (holder === receiver) holder = null }
        wakeNext()
    }

    private fun wakeNext() {
        while (true) {
            val next =
                synchronized(lock) {
                    if (holder != null || receivers.isEmpty() || !isReady) return
                    receivers.removeFirst().also { holder = it }
                }
            var isAwake = false
            waking { isAwake = next.wake() }
            if (isAwake) return
            synchronized(lock) { if (holder === next) holder = null }
        }
    }
}
