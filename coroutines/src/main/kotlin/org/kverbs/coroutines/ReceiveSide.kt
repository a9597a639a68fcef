package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.Deferred
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import org.kverbs.WorkCompletion
import org.kverbs.attributes.AccessFlag

/**
 * Manages a receive queue, of one queue pair or shared: the callers that wait for a message, or for a free entry of the
 * queue.
 *
 * @param breakUp moves the queue's only queue pair to the error state; a shared queue has none
 */
internal class ReceiveSide(
    dispatcher: CompletionDispatcher,
    polled: PolledQueue,
    capacity: Int,
    failures: Failures,
    pd: ProtectionDomain,
    private val breakUp: () -> Unit = {},
    private val post: (Long, MemorySlice) -> Unit,
) : RequestSide(dispatcher, polled, capacity) {
    private val stage = ReceiveStage { pd.memoryRegion(it, AccessFlag.LOCAL_WRITE) }
    private val slots = ReceiveSlots(capacity, failures, stage)
    private val waits = PollingWaits(dispatcher, capacity)

    init {
        begin()
    }

    /**
     * Waits for a message and copies it into [memory], which belongs to [pin]. Posts a receive, unless that of a
     * cancelled caller is left.
     */
    suspend fun await(
        memory: MemorySlice,
        pin: RegisteredBuffer?,
    ): Received {
        checkCapacity()
        pin?.pin()
        try {
            val message = suspendToPost { join(it, memory.length()) }
            return slots.memory.take(message, memory)
        } finally {
            pin?.unpin()
        }
    }

    private fun join(
        receiver: CancellableContinuation<Received>,
        length: Long,
    ) {
        if (!receiver.isActive) return
        while (!slots.tryJoin(receiver, length)) {
            var refusal: Refusal? = null
            val hasSlot =
                locked {
                    checkNotEnded()
                    slots.put(receiver, length)?.also { refusal = post(it, receiver) } != null
                }
            refusal?.let { settle(it, receiver) }
            if (hasSlot) return
        }
    }

    /**
     * A receive that the device refused, and the receiver that is left without a request; null if there is none. After
     * an Error, such as a stack overflow, nobody knows whether the device has the receive.
     */
    private class Refusal(
        val receiver: Any?,
        val cause: Throwable,
    )

    /** Posts a receive. Called under the lock; the caller gives the refusal to [settle] outside it. */
    private fun post(
        slot: ReceiveSlot,
        receiver: Any,
    ): Refusal? =
        try {
            VectorRegisters.clearUpperHalves()
            post(id(slot.index), checkNotNull(slot.memory))
            null
        } catch (e: RuntimeException) {
            Refusal(slots.takeBack(slot, receiver), e)
        } catch (e: Error) {
            Refusal(slots.leave(receiver), e)
        }

    /**
     * Ends the receiver of a refused receive, which is [caller] or another one, and gives the free entry to those that
     * wait. Without a request under way no completion does that.
     */
    private fun settle(
        refusal: Refusal,
        caller: Any?,
    ) {
        val receiver = refusal.receiver
        endIfOpen(refusal.cause)
        if (receiver != null && receiver !== caller) slots.end(receiver, refusal.cause)
        postForWaiting()
        if (receiver != null && receiver === caller) throw refusal.cause
    }

    /**
     * Ends the queue after an Error of a post: another receive must not get the entry and the memory that the device
     * perhaps has. The device completes what it has, in the error state, and so frees them. Nobody must join a receive
     * that perhaps was not posted, either.
     */
    private fun endIfOpen(cause: Throwable) {
        if (cause !is Error) return
        stop(cause) // first, so that no receiver hears of a flush in place of the error
        breakUp()
    }

    /** Posts a receive, or takes over that of a cancelled caller, and returns at once. */
    fun post(
        memory: MemorySlice,
        pin: RegisteredBuffer?,
    ): Deferred<Received> {
        checkCapacity()
        pin?.pin()
        val receive = PostedReceive(memory, pin, slots, waits)
        var begun = false
        try {
            begin(receive)
            begun = true
        } finally {
            if (!begun && !receive.isLeft) pin?.unpin()
        }
        return receive
    }

    private fun begin(receive: PostedReceive) {
        if (post(receive) { slots.putAtOnce(receive) }) return
        while (!slots.tryJoin(receive, receive.memory.length())) {
            if (post(receive) { slots.put(receive) }) return
            // Another thread can have taken the entry since tryJoin, for a caller that is cancelled by now.
            if (slots.isFull()) refuse()
        }
    }

    /** Posts a receive in the slot that [take] gives it. False if it gives none. */
    private inline fun post(
        receive: PostedReceive,
        take: () -> ReceiveSlot?,
    ): Boolean {
        var refusal: Refusal? = null
        val slot =
            locked {
                checkNotEnded()
                take()?.also { refusal = post(it, receive) }
            }
        refusal?.let { settle(it, receive) }
        return slot != null
    }

    private fun checkCapacity() =
        check(capacity > 0) {
            "this queue pair was made with maxRecvWr(0), so it can't receive; give it maxRecvWr(1) or more"
        }

    private fun refuse(): Nothing =
        error(
            "all $capacity receives of this queue are posted, or others wait to post one: await a message first, or " +
                "make the queue longer",
        )

    override fun complete(
        request: Int,
        completion: WorkCompletion,
    ) {
        slots.complete(request, completion)
        postForWaiting()
    }

    private fun postForWaiting() {
        var more = slots.isAwaited
        while (more) more = postForNext()
    }

    /**
     * Posts a receive for the receiver that has waited longest for a free entry. False if there is none, or no free
     * entry.
     */
    private fun postForNext(): Boolean {
        val refusal =
            locked {
                if (hasEnded) return false
                val next = slots.promote() ?: return false
                if (next.slot != null) {
                    post(next.slot, next.receiver)
                } else {
                    Refusal(next.receiver, checkNotNull(next.failure))
                }
            }
        if (refusal != null) {
            endIfOpen(refusal.cause)
            refusal.receiver?.let { slots.end(it, refusal.cause) }
        }
        return true
    }

    override fun failWaits(cause: Throwable): Unit = slots.fail(cause)

    override fun stopWaits(cause: Throwable): Unit = slots.stop(cause)

    override fun release() {
        waits.close()
        stage.close()
    }

    override fun toString(): String = slots.toString()
}
