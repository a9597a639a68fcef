package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.suspendCancellableCoroutine

/**
 * Messages that came, in order. A receiver that waits is woken when the first message is there, and takes it when it
 * runs; until then nobody else takes one. So each message goes to the receiver that has waited longest, and one that is
 * cancelled leaves it to the next. Any thread; nobody is woken under the lock.
 *
 * @param onGone called when a message has left, taken or dropped
 */
internal class ChannelInbox(
    private val onGone: (ChannelArrival) -> Unit,
) {
    /** Somebody that waits for the first message. */
    internal fun interface Receiver {
        /** The first message, or the end, is the receiver's to [takeAs]. False if it has gone. */
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

    /** Has been woken, and has not taken yet. */
    private var holder: Receiver? = null
    private var ended = false
    private var peerHasFinished = false
    private var dropping = false

    /**
     * Why no message comes any more; null if the peer has sent its last, or has not yet. Each receiver is told by an
     * exception of its own.
     */
    @Volatile
    var cause: Throwable? = null
        private set

    /** Completes when the peer has sent its last message, or the channel has ended. */
    val end = CompletableDeferred<Unit>()

    /** Whether nobody wants messages any more. */
    val isDropping: Boolean get() = synchronized(lock) { dropping }

    /** How many messages nobody has taken, those among them that are not here yet. */
    val size: Int get() = synchronized(lock) { arrivals.size }

    /** Whether the first message is here. */
    val hasMessage: Boolean get() = synchronized(lock) { arrivals.firstOrNull()?.bytes != null }

    /** Whether there is no message, and none will come. */
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

    /** A message that was announced is here. False if it was dropped before. */
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

    /** The peer has sent its last message. */
    fun finish() {
        synchronized(lock) {
            peerHasFinished = true
            ended = true
        }
        end.wake(Unit)
        wakeNext()
    }

    /**
     * No message comes any more, and nothing is fetched. Messages that are here can still be taken. The first end
     * counts.
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
     * Drops the messages, those that are still to come too. Receivers are told [cause], or wait for the end if it is
     * null, which is no clean one if a message was dropped. Nothing if the peer's last message was taken.
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

    private fun dropped() = ChannelClosedException("this side has disconnected and dropped messages that came")

    /** Takes the first message if it is here and nobody waits for it. */
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
     * Takes the next message, and suspends until it is here. Null at the end: [cause] says why.
     *
     * @param fits throws if the receiver cannot use a message of that length, which is left to the next then
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

    /** Lets a receiver wait its turn. True if it need not: it calls [takeAs] then, or [release]. */
    fun enlist(receiver: Receiver): Boolean =
        synchronized(lock) {
            val isFirst = holder == null && receivers.isEmpty() && isReady
            if (isFirst) holder = receiver else receivers.addLast(receiver)
            isFirst
        }

    /** The receiver waits no more. */
    fun forget(receiver: Receiver) {
        synchronized(lock) { receivers.remove(receiver) }
    }

    /** Takes the message for which the receiver was woken. Null at the end. */
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

    /** A receiver that was woken takes nothing, or has taken. */
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
