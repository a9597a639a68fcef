package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.suspendCancellableCoroutine
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import org.kverbs.WorkCompletion
import org.kverbs.attributes.AccessFlag

/**
 * Manages a receive queue, of one queue pair or shared: the callers that wait for a message, or for a free entry of the
 * queue.
 */
internal class ReceiveSide(
    dispatcher: CompletionDispatcher,
    polled: PolledQueue,
    capacity: Int,
    failures: Failures,
    pd: ProtectionDomain,
    private val post: (Long, MemorySlice) -> Unit,
) : RequestSide(dispatcher, polled, capacity) {
    private val stage = ReceiveStage { pd.memoryRegion(it, AccessFlag.LOCAL_WRITE) }
    private val slots = ReceiveSlots(capacity, failures, stage)

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
            val message = suspendCancellableCoroutine { join(it, memory.length()) }
            return slots.take(message, memory)
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
            synchronized(lock) {
                checkNotEnded()
                val slot = slots.put(receiver, length)
                if (slot != null) {
                    post(slot, receiver)
                    return
                }
            }
        }
    }

    /**
     * Posts a receive. Throws the device's exception, unless the receiver has got a message meanwhile. Called under the
     * lock.
     */
    private fun post(
        slot: ReceiveSlot,
        receiver: Any,
    ) {
        var posted = false
        try {
            post(id(slot.index), checkNotNull(slot.memory))
            posted = true
        } catch (e: RuntimeException) {
            posted = !slots.takeBack(slot, receiver)
            if (!posted) throw e
        }
    }

    /** Posts a receive, or takes over that of a cancelled caller, and returns at once. */
    fun post(
        memory: MemorySlice,
        pin: RegisteredBuffer?,
    ): Deferred<Received> {
        checkCapacity()
        pin?.pin()
        val receive = PostedReceive(memory, pin)
        var begun = false
        try {
            begin(receive)
            begun = true
        } finally {
            if (!begun) pin?.unpin()
        }
        return receive.message
    }

    private fun begin(receive: PostedReceive) {
        if (slots.tryJoin(receive, receive.memory.length())) {
            receive.message.invokeOnCompletion { receive.pin?.unpin() }
            return
        }
        val slot =
            synchronized(lock) {
                checkNotEnded()
                (slots.put(receive) ?: refuse()).also { post(it, receive) }
            }
        // Called for every end. After the request has completed this does nothing.
        receive.message.invokeOnCompletion { slots.desert(slot, receive.message) }
    }

    private fun checkCapacity() = check(capacity > 0) { "this queue pair was made with maxRecvWr(0): it can't receive" }

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
        var more = slots.isAwaited
        while (more) more = postForNext()
    }

    /**
     * Posts a receive for the receiver that has waited longest for a free entry. False if there is none, or no free
     * entry.
     */
    private fun postForNext(): Boolean {
        val next: ReceiveSlots.Promotion
        var failure: RuntimeException?
        synchronized(lock) {
            if (hasEnded) return false
            next = slots.promote() ?: return false
            failure = next.failure
            if (next.slot != null) {
                try {
                    post(next.slot, next.receiver)
                } catch (e: RuntimeException) {
                    failure = e
                }
            }
        }
        failure?.let { slots.end(next.receiver, it) }
        return true
    }

    override fun failWaits(cause: Throwable): Unit = slots.fail(cause)

    override fun stopWaits(cause: Throwable): Unit = slots.stop(cause)

    override fun release(): Unit = stage.close()
}
