package org.kverbs.coroutines

import kotlinx.coroutines.CompletableDeferred
import org.kverbs.coroutines.ChannelArrival.State

/**
 * Queues the messages that have arrived. When the first message is complete, the inbox wakes the receiver that has
 * waited longest. The receiver takes the message when it runs; until then no other receiver takes one. A cancelled
 * receiver leaves the message to the next one. Any thread can call; receivers are woken outside the lock.
 *
 * A large message that nobody reads yet is *offered*. A receiver that can read it itself, into a buffer, gets it
 * together with its wake-up, and the next receiver can get the next message meanwhile. If it fails to read it, it puts
 * it back. Other receivers wait until [fetch] has read the message.
 *
 * @param isAhead whether each offered message is fetched if no receiver takes it; otherwise only for receivers
 * @param fetch begins to read an offered message; ends with [claim] and [complete]
 * @param onBroken called with what [fetch] throws; must end the messages, as that one is never read
 * @param onGone called when a message has left the inbox, taken or dropped
 */
internal class ChannelInbox(
    private val isAhead: Boolean,
    private val fetch: (ChannelArrival) -> Unit,
    private val onBroken: (Throwable) -> Unit = { throw it },
    private val onGone: (ChannelArrival, Gone) -> Unit,
) {
    /** How a message left the inbox. */
    enum class Gone {
        /** It was here. */
        HERE,

        /** A receiver has read it itself. */
        READ,

        /** It was dropped, and nobody has read it. */
        UNREAD,

        /** It was dropped while it was being read into an array. */
        FETCHED,
    }

    /** A receiver that waits for the first message. */
    internal fun interface Receiver {
        /**
         * Gives the first message, or the end, to the receiver, which calls [takeAs]. False if the receiver no longer
         * waits.
         */
        fun wake(): Boolean
    }

    private val lock = Any()
    private val arrivals = ArrivalQueue()
    private val receivers = ArrayDeque<Receiver>()

    /** The receiver that was woken and has not taken its message yet. */
    private var holder: Receiver? = null

    /** Number of messages that receivers read themselves. */
    private var reading = 0
    private var ended = false

    /** True if the peer has sent its last message. */
    @Volatile
    var peerHasFinished = false
        private set
    private var hasFailed = false
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

    /** Number of messages that were not taken, including those still being read from the peer's memory. */
    val size: Int get() = synchronized(lock) { arrivals.size + reading }

    /** True if the first message is complete. */
    val hasMessage: Boolean get() = synchronized(lock) { arrivals.isFirst(State.HERE) }

    /** True if there is no message, and none will come. */
    val isAtEnd: Boolean get() = synchronized(lock) { isOver }

    /** True if the peer has sent its last message, and none of its messages is left to read. */
    val hasAll: Boolean get() = synchronized(lock) { peerHasFinished && arrivals.isEmpty() && reading == 0 }
    private val isOver get() = ended && arrivals.isEmpty() && reading == 0
    private val isReady get() = isOver || arrivals.isFirst(State.HERE)

    fun add(arrival: ChannelArrival) {
        val dropped =
            synchronized(lock) {
                if (peerHasFinished) throw ChannelProtocolException("the peer sent a message after its end")
                arrivals.number(arrival)
                if (!dropping && !ended) arrivals.insert(arrival)
                if (dropping && !ended) cause = cause ?: dropped()
                dropping
            }
        if (dropped) onGone(arrival, gone(arrival)) else wakeNext()
    }

    /** Tells how a message left that is dropped now. */
    private fun gone(arrival: ChannelArrival): Gone =
        when (arrival.state) {
            State.HERE -> Gone.HERE
            State.FETCHED -> Gone.FETCHED
            State.OFFERED, State.GONE -> Gone.UNREAD
        }

    /**
     * Takes an offered message to fetch it. False if a receiver has it, or it was dropped.
     *
     * @param held bytes of [ChannelFetches.budget] that the fetch holds
     */
    fun claim(
        arrival: ChannelArrival,
        held: Int = 0,
    ): Boolean =
        synchronized(lock) {
            val isFree = arrival.state == State.OFFERED
            if (isFree) {
                arrival.state = State.FETCHED
                arrival.held = held
            }
            isFree
        }

    /** Completes a message that is fetched. False if it was dropped before. */
    fun complete(
        arrival: ChannelArrival,
        bytes: ByteArray,
    ): Boolean {
        synchronized(lock) {
            if (dropping) return false
            arrival.bytes = bytes
            arrival.state = State.HERE
        }
        wakeNext()
        return true
    }

    /** Notes that a receiver has read the message that it was given. */
    fun received(arrival: ChannelArrival) {
        synchronized(lock) { reading-- }
        onGone(arrival, Gone.READ)
        wakeNext()
    }

    /**
     * Takes a message back that a receiver was given and did not read. It comes before all later messages. If the
     * messages have failed, it is lost, and the later ones with it.
     */
    fun putBack(arrival: ChannelArrival) {
        val dropped =
            synchronized(lock) {
                reading--
                if (dropping) cause = cause ?: dropped()
                arrival.budget = 0
                if (!dropping && !hasFailed) {
                    arrival.state = State.OFFERED
                    arrival.isBegun = false
                    arrivals.insert(arrival)
                }
                if (hasFailed) arrivals.removeBehind(arrival)
                dropping
            }
        if (dropped) onGone(arrival, Gone.UNREAD)
        wakeNext()
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
            val here = arrivals.indexOfFirst { it.state != State.HERE }
            if (here >= 0) while (arrivals.size > here) arrivals.drop(arrivals.size - 1)
            if (!ended || here >= 0 || reading > 0) this.cause = this.cause ?: cause
            ended = true
            hasFailed = true
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
                if (cause != null || !arrivals.isEmpty()) this.cause = this.cause ?: cause ?: dropped()
                List(arrivals.size) { arrivals.drop(0) }
            }
        for (arrival in dropped) onGone(arrival, gone(arrival))
        wakeNext()
    }

    private fun dropped() =
        ChannelClosedException(
            "this side has disconnected and dropped messages that came: receive them before disconnect()",
        )

    /**
     * Takes the first message if it is complete and no receiver waits for it. If it is offered, it is fetched.
     *
     * @param reads whether the caller reads an offered message itself: it calls [received] or [putBack] then
     */
    fun tryTake(
        reads: Boolean = false,
        fits: (Long) -> Unit = {},
    ): ChannelArrival? {
        val taken = synchronized(lock) { if (holder == null && receivers.isEmpty()) takeFirst(reads, fits) else null }
        if (taken != null) left(taken)
        fetchAll(if (reads || taken != null) 0 else 1)
        return taken
    }

    private fun takeFirst(
        reads: Boolean,
        fits: (Long) -> Unit,
    ): ChannelArrival? {
        val first = arrivals.firstOrNull() ?: return null
        if (first.state != State.HERE && !(reads && first.state == State.OFFERED)) return null
        fits(first.length)
        return give()
    }

    /** Takes the first message that is here: messages that were put back can have come before it. */
    private fun takeHere(fits: (Long) -> Unit): ChannelArrival? {
        val index = arrivals.indexOfFirst { it.state == State.HERE }
        if (index < 0) return null
        fits(arrivals[index].length)
        return give(index)
    }

    private fun give(index: Int = 0): ChannelArrival =
        arrivals.remove(index).also {
            if (it.state == State.OFFERED) reading++
            it.state = State.GONE
        }

    private fun left(taken: ChannelArrival) {
        if (taken.bytes != null) onGone(taken, Gone.HERE)
    }

    /**
     * Takes the next message, and suspends until it is complete or, if the caller [reads], offered: see [tryTake]. Null
     * at the end; [cause] is the reason.
     *
     * @param fits throws if the receiver cannot use a message of this length; the next receiver gets it then
     */
    suspend fun take(
        reads: Boolean = false,
        fits: (Long) -> Unit = {},
    ): ChannelArrival? {
        tryTake(reads, fits)?.let { return it }
        val waiting = WaitingReceiver(reads, ::leave)
        suspendToPost { continuation ->
            waiting.continuation = continuation
            var isEnlisted = false
            try {
                val isFirst = enlist(waiting)
                continuation.invokeOnCancellation { forget(waiting) }
                if (isFirst) waiting.wake()
                isEnlisted = true
            } finally {
                // A fetch that it began has failed: the receiver must not keep its turn from the others.
                if (!isEnlisted) {
                    try {
                        forget(waiting)
                    } finally {
                        leave(waiting)
                    }
                }
            }
        }
        val given = waiting.given ?: return takeAs(waiting, fits)
        var isTaken = false
        try {
            fits(given.length)
            isTaken = true
        } finally {
            if (!isTaken) putBack(given)
        }
        return given
    }

    /**
     * Undoes the wake-up of a receiver that was cancelled before it ran. Does nothing the second time: a receiver that
     * has thrown an error calls this, and so can the thread that was about to wake it.
     */
    private fun leave(waiting: WaitingReceiver) {
        val given = synchronized(lock) { waiting.given.also { waiting.given = null } }
        if (given == null) release(waiting) else putBack(given)
    }

    /**
     * Adds a receiver to those that wait. True if it does not need to wait: it must call [takeAs] or [release] then.
     */
    fun enlist(receiver: Receiver): Boolean {
        val isFirst =
            synchronized(lock) {
                receivers.addLast(receiver)
                receivers.size == 1 && next() != null
            }
        if (!isFirst) fetchAll(0)
        return isFirst
    }

    /** Removes a receiver that no longer waits. */
    fun forget(receiver: Receiver) {
        synchronized(lock) { receivers.remove(receiver) }
        wakeNext()
    }

    /** Takes the message that the receiver was woken for. Null at the end. */
    fun takeAs(
        receiver: Receiver,
        fits: (Long) -> Unit = {},
    ): ChannelArrival? {
        val taken =
            try {
                synchronized(lock) { takeHere(fits) }
            } finally {
                release(receiver)
            }
        if (taken != null) left(taken)
        return taken
    }

    /** Ends the turn of a receiver that was woken, whether it has taken its message or not. */
    fun release(receiver: Receiver) {
        synchronized(lock) { if (holder === receiver) holder = null }
        wakeNext()
    }

    private fun wakeNext() {
        while (true) {
            val next = synchronized(lock) { next() } ?: break
            var isAwake = false
            waking { isAwake = next.wake() }
            if (!isAwake) {
                synchronized(lock) { if (holder === next) holder = null }
            } else if ((next as? WaitingReceiver)?.given == null) {
                break // it holds the turn
            }
        }
        fetchAll(0)
    }

    /** Takes the receiver out that is to be woken now, or returns null. */
    private fun next(): Receiver? {
        if (holder != null) return null
        val first = receivers.firstOrNull() ?: return null
        if (first is WaitingReceiver && first.reads && arrivals.isFirst(State.OFFERED)) {
            first.given = give()
        } else if (isReady) {
            holder = first
        } else {
            return null
        }
        return receivers.removeFirst()
    }

    /**
     * Begins the fetches of offered messages: of all, or of those that receivers without a buffer wait for, and of
     * [more] first ones.
     */
    private fun fetchAll(more: Int) {
        while (arrivals.unbegun > 0) {
            val next = synchronized(lock) { nextToFetch(more) } ?: return
            try {
                fetch(next)
            } catch (e: Throwable) {
                onBroken(e) // thrown on, it would take the message with it that a receiver has just been given
            }
        }
    }

    private fun nextToFetch(more: Int): ChannelArrival? {
        if (isAhead) return arrivals.begin(arrivals.size) { false }
        return arrivals.begin(maxOf(receivers.size, more)) { index -> index >= more && reads(receivers[index]) }
    }

    private fun reads(receiver: Receiver) = receiver is WaitingReceiver && receiver.reads
}
