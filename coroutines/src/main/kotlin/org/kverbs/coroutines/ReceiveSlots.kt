package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionOpcode
import kotlin.coroutines.CoroutineContext

/**
 * Matches the receive requests under way with the receivers that wait for messages. A message goes to the receiver that
 * has waited longest, by whichever request it came, so that a cancelled receiver takes no message from the others.
 * Therefore messages arrive in the queue's own [ReceiveStage], because no device gives back the memory of a posted
 * request, and the receiver copies its message when it runs again.
 *
 * A [PostedReceive] with a slot of its own is the exception: its message arrives in its own memory, so it gets that
 * message and no other. If it was cancelled, its message goes to the receiver that has waited longest, too.
 *
 * A receiver is a CancellableContinuation or a [PostedReceive]. A shared receive queue can complete requests in any
 * order; a slot is reused only after its completion. Any thread can call; no receiver is resumed under the lock.
 */
internal class ReceiveSlots(
    capacity: Int,
    private val failures: Failures,
    private val stage: ReceiveStage,
) {
    /** A receiver that waits for a free entry of the queue. */
    private class Waiting(
        val receiver: Any,
        val length: Long,
    )

    /** The memory of messages that have arrived. */
    val memory = MessageMemory(stage)
    private val lock = Any()
    private val slots = Array(capacity, ::ReceiveSlot)
    private val free = ArrayDeque(slots.asList())

    /**
     * Number of requests whose message goes to the receiver that has waited longest; at least as many as there are
     * [receivers].
     */
    private var loose = 0

    /** The receivers, oldest first. Cancelled ones are removed when it is their turn, or in bulk. */
    private val receivers = ArrayDeque<Any>()
    private val waiting = ArrayDeque<Waiting>()
    private val unclaimed = ArrayDeque<Received>()
    private var arrivals = 0L
    private var sweepAt = SWEEP_AT
    private var hasFailed = false
    private var hasStopped = false

    /** True if [promote] can find something; a hint. */
    @Volatile
    var isAwaited: Boolean = false
        private set
    private val unused = { _: Throwable, message: Received, _: CoroutineContext -> putBack(message) }

    /**
     * Gives a receiver the oldest message that was not taken, or lets it wait without a request of its own. It can wait
     * if the request of a cancelled receiver is left, or if the queue has no free entry; [promote] finds it then.
     *
     * @return false if the caller must post a request for the receiver
     */
    fun tryJoin(
        receiver: Any,
        length: Long,
    ): Boolean {
        val message =
            synchronized(lock) {
                if (hasFailed) return false
                val message = unclaimed.removeFirstOrNull()
                if (message == null) {
                    if (hasStopped) return false
                    // A posted receive is refused if the queue is full, so cancelled receivers must not hold entries.
                    val isFull = free.isEmpty() || waiting.isNotEmpty()
                    forgetCancelled(all = isFull && receiver is PostedReceive)
                    when {
                        waiting.isEmpty() && loose > receivers.size -> receivers.addLast(receiver)
                        waiting.isEmpty() && free.isNotEmpty() -> return false
                        receiver is PostedReceive -> return false
                        else -> waiting.addLast(Waiting(receiver, length)).also { isAwaited = true }
                    }
                }
                message
            }
        if (message != null) hand(message, receiver)
        return true
    }

    private fun forgetCancelled(all: Boolean) {
        while (receivers.isNotEmpty() && !isActive(receivers.first())) receivers.removeFirst()
        if (all) waiting.removeAll { !isActive(it.receiver) }
        if (!all && receivers.size < sweepAt) return
        receivers.removeAll { !isActive(it) }
        sweepAt = 2 * receivers.size + SWEEP_AT
        // Those that wait for an entry although requests of cancelled receivers are left, which the list still held.
        while (all && waiting.isNotEmpty() && loose > receivers.size) {
            receivers.addLast(waiting.removeFirst().receiver)
        }
    }

    /**
     * Takes a slot for a request that is about to be posted for a receiver. Null if the caller must try [tryJoin]
     * again.
     */
    fun put(
        receiver: Any,
        length: Long,
    ): ReceiveSlot? =
        synchronized(lock) {
            if (unclaimed.isNotEmpty() || waiting.isNotEmpty() || free.isEmpty()) return null
            take(length).also { receivers.addLast(receiver) }
        }

    /** Takes a slot for a receive whose own memory is posted. Null if the queue is full. */
    fun put(receive: PostedReceive): ReceiveSlot? =
        synchronized(lock) {
            if (waiting.isNotEmpty() || free.isEmpty()) return null
            take(receive)
        }

    /** Does the same for the usual receive, in one step: null if it would have to join, to wait or to be refused. */
    fun putAtOnce(receive: PostedReceive): ReceiveSlot? =
        synchronized(lock) {
            if (hasFailed || hasStopped || unclaimed.isNotEmpty() || waiting.isNotEmpty() || loose > 0) return null
            if (free.isEmpty()) null else take(receive)
        }

    private fun take(receive: PostedReceive): ReceiveSlot =
        free.removeFirst().also {
            it.memory = receive.memory
            it.keeper = receive.keeper
            it.owner = receive
            receive.slot = it
        }

    /** True if a [PostedReceive] must be refused: it can neither join, nor has the queue a free entry for it. */
    fun isFull(): Boolean =
        synchronized(lock) {
            forgetCancelled(all = true)
            unclaimed.isEmpty() && (waiting.isNotEmpty() || (free.isEmpty() && loose <= receivers.size))
        }

    private fun take(length: Long): ReceiveSlot {
        val chunk = stage.take(length)
        loose++
        return free.removeFirst().also {
            it.memory = chunk.slice(length)
            it.keeper = chunk
        }
    }

    /**
     * The receiver that has waited longest for a free entry, with a slot for its request, or with the reason why it
     * gets none.
     */
    class Promotion(
        val receiver: Any,
        val slot: ReceiveSlot?,
        val failure: Throwable?,
    )

    /**
     * Takes a slot for the receiver that has waited longest for a free entry. Null if there is none, or the queue is
     * full.
     */
    fun promote(): Promotion? =
        synchronized(lock) {
            var next = nextWaiting()
            while (next != null && loose > receivers.size) {
                receivers.addLast(next.receiver)
                next = nextWaiting()
            }
            isAwaited = waiting.isNotEmpty()
            next?.let(::promote)
        }

    private fun nextWaiting(): Waiting? {
        while (waiting.isNotEmpty() && !isActive(waiting.first().receiver)) waiting.removeFirst()
        return if (free.isEmpty()) null else waiting.removeFirstOrNull()
    }

    private fun promote(next: Waiting): Promotion =
        try {
            val slot = take(next.length)
            receivers.addLast(next.receiver)
            Promotion(next.receiver, slot, null)
        } catch (e: Throwable) {
            Promotion(next.receiver, null, e)
        }

    /**
     * Frees the slot of a refused request. Returns the receiver that has no request now: [receiver], or the last one if
     * another has joined the request meanwhile. Null if all receivers have one.
     */
    fun takeBack(
        slot: ReceiveSlot,
        receiver: Any,
    ): Any? =
        synchronized(lock) {
            val keeper = slot.keeper
            release(slot)
            if (receiver is PostedReceive) return receiver
            memory.letGo(keeper)
            if (receivers.remove(receiver)) return receiver
            receivers.removeAll { !isActive(it) }
            if (receivers.size > loose) receivers.removeLast() else null
        }

    /**
     * Takes its receiver from a request that the device has perhaps, and which keeps its slot and memory. Returns the
     * receiver, or null if it was given a message meanwhile.
     */
    fun leave(receiver: Any): Any? =
        synchronized(lock) {
            if (receiver !is PostedReceive) return receiver.takeIf(receivers::remove)
            receiver.isLeft = true
            desert(receiver)
            receiver
        }

    private fun release(slot: ReceiveSlot) {
        if (slot.owner == null) loose--
        slot.memory = null
        slot.keeper = null
        slot.owner = null
        free.addLast(slot)
    }

    /** Gives up a posted receive for its caller. The request goes on, for the receiver that has waited longest. */
    fun desert(receive: PostedReceive) {
        synchronized(lock) {
            val slot = receive.slot ?: return
            if (slot.owner !== receive) return
            slot.owner = null
            loose++
        }
    }

    /** Takes the completion of a request. */
    fun complete(
        index: Int,
        completion: WorkCompletion,
    ) {
        val slot = slots.getOrNull(index) ?: return
        val failure = if (completion.isSuccess) null else failures.of(completion, WorkCompletionOpcode.RECV.code())
        val message = if (failure == null) Received(completion) else null
        val keeper: Any?
        val owner: PostedReceive?
        val receiver: Any?
        synchronized(lock) {
            val posted = slot.memory ?: return
            keeper = slot.keeper
            owner = slot.owner
            receiver = owner ?: nextReceiver()
            message?.arrive(posted, keeper, arrivals++)
            release(slot)
            if (receiver == null && message != null) unclaimed.addLast(message)
        }
        if (message == null) {
            memory.letGo(keeper)
            if (receiver != null) end(receiver, checkNotNull(failure))
        } else if (owner != null) {
            if (!owner.give(message, isArriving = true)) putBack(message)
        } else if (receiver != null) {
            hand(message, receiver)
        }
    }

    private fun nextReceiver(): Any? {
        while (true) {
            val next = receivers.removeFirstOrNull() ?: waiting.removeFirstOrNull()?.receiver ?: return null
            if (isActive(next)) return next
        }
    }

    private fun isActive(receiver: Any): Boolean =
        if (receiver is PostedReceive) receiver.isActive else (receiver as CancellableContinuation<*>).isActive

    /**
     * Gives a message to its receiver. A receiver that is cancelled before it runs again leaves the message to the next
     * one.
     */
    @Suppress("UNCHECKED_CAST")
    private fun hand(
        message: Received,
        receiver: Any,
    ) {
        when (receiver) {
            is CancellableContinuation<*> -> resume(receiver as CancellableContinuation<Received>, message)
            else -> handCopy(message, receiver as PostedReceive)
        }
    }

    private fun resume(
        receiver: CancellableContinuation<Received>,
        message: Received,
    ) {
        if (!waking { receiver.resume(message, unused) }) putBack(message)
    }

    private fun handCopy(
        message: Received,
        receive: PostedReceive,
    ) {
        // A receive that is cancelled during the copy keeps its buffer until the copy is done.
        if (!receive.tryUse()) return putBack(message)
        val failure =
            try {
                memory.bring(message, receive.memory)
                null
            } catch (e: Throwable) {
                // An error, too, as that of a mapped file that has shrunk: the receive must end.
                e
            } finally {
                receive.release()
            }
        if (failure == null) {
            give(message, receive)
        } else if (receive.fail(failure)) {
            memory.settle(message)
        } else {
            putBack(message) // the caller was cancelled before, perhaps closed its memory, and hears of no failure
        }
    }

    private fun give(
        message: Received,
        receive: PostedReceive,
    ) {
        if (!receive.give(message)) putBack(message)
    }

    /**
     * Releases the memory of a message that its receive has taken. One that its receive did not take goes to the next
     * receiver.
     */
    fun settle(
        message: Received,
        isTaken: Boolean,
    ): Unit = if (isTaken) memory.settle(message) else putBack(message)

    /**
     * Gives a message to the receiver that has waited longest, or keeps it for the next one, ahead of all later
     * messages.
     */
    private fun putBack(message: Received) {
        val receiver =
            synchronized(lock) {
                val receiver = if (hasFailed) null else nextReceiver()
                if (receiver == null && !hasFailed) {
                    unclaimed.add(
                        unclaimed.indexOfFirst { it.number > message.number }.let {
                            if (it < 0) {
                                unclaimed.size
                            } else {
                                it
                            }
                        },
                        message,
                    )
                    return
                }
                receiver
            }
        if (receiver == null) memory.settle(message) else hand(message, receiver)
    }

    /** Ends a receiver's wait with a failure. */
    fun end(
        receiver: Any,
        cause: Throwable,
    ) {
        when (receiver) {
            is CancellableContinuation<*> -> receiver.fail(cause)
            else -> (receiver as PostedReceive).fail(cause)
        }
    }

    /** Ends all waits with [cause], as no completion comes any more. */
    fun fail(cause: Throwable) {
        val ended = ArrayList<Any>()
        val kept = ArrayList<Any>()
        synchronized(lock) {
            hasFailed = true
            ended.addAll(receivers)
            waiting.mapTo(ended) { it.receiver }
            receivers.clear()
            waiting.clear()
            isAwaited = false
            unclaimed.forEach { message -> message.leave()?.let(kept::add) }
            unclaimed.clear()
            for (slot in slots) {
                if (slot.memory == null) continue
                slot.owner?.let(ended::add)
                slot.keeper?.let(kept::add)
                release(slot)
            }
        }
        closeAll(*Array(ended.size) { AutoCloseable { end(ended[it], cause) } }, { kept.letGo() })
    }

    private fun List<Any>.letGo() = closeAll(*Array(size) { AutoCloseable { memory.letGo(this[it]) } })

    /** Ends all waits with [cause]. Messages that have arrived can still be taken; completions can still come. */
    fun stop(cause: Throwable) {
        val ended = ArrayList<Any>()
        synchronized(lock) {
            hasStopped = true
            ended.addAll(receivers)
            waiting.mapTo(ended) { it.receiver }
            slots.mapNotNullTo(ended) { it.owner }
            receivers.clear()
            waiting.clear()
            isAwaited = false
        }
        ended.forEach { end(it, cause) } // this also calls desert for the slots of posted receives
    }

    /** Shows the numbers of requests under way, of receivers, and of messages that nobody took. */
    override fun toString(): String =
        synchronized(lock) {
            "${slots.size - free.size} receives posted, $loose of them for any receiver, ${receivers.size} " +
                "receivers, ${waiting.size} that wait for room, ${unclaimed.size} messages of $arrivals"
        }

    private companion object {
        const val SWEEP_AT = 8
    }
}
