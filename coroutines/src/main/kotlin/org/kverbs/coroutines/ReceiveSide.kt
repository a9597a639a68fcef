package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.suspendCancellableCoroutine
import org.kverbs.MemorySlice
import org.kverbs.WorkCompletion

/** A receive queue, of one queue pair or shared: who waits for a message, or for room in the queue. */
internal class ReceiveSide(
    dispatcher: CompletionDispatcher,
    val polled: PolledQueue,
    private val capacity: Int,
    failures: Failures,
    private val post: (Long, MemorySlice) -> Unit,
) : CompletionTarget {
    private val targets = dispatcher.targets
    private val slots = ReceiveSlots(capacity, failures)
    private val credits = Credits(maxOf(capacity, 1))
    private val key = targets.add(this)

    /** Held while posting, and while the end is noted: after that nobody posts. */
    private val lock = Any()
    private var ended: Throwable? = null

    init {
        polled.add(this)
    }

    /** Posts a receive, or takes over one that nobody waits for, and suspends until a message has come. */
    suspend fun await(
        memory: MemorySlice,
        pin: RegisteredBuffer?,
    ): Received {
        check(capacity > 0) { "this queue pair was made with maxRecvWr(0): it can't receive" }
        if (slots.hasLeft) {
            // The credits may all be with requests that nobody waits for.
            takeOver(memory, pin)?.let { return it }
        }
        if (!credits.tryAcquire(1)) credits.acquire(1)
        return suspendCancellableCoroutine { start(it, memory, pin) }
    }

    private suspend fun takeOver(
        memory: MemorySlice,
        pin: RegisteredBuffer?,
    ): Received? {
        val taken =
            suspendCancellableCoroutine<Any> { continuation ->
                if (!tryTakeOver(continuation, memory, pin)) continuation.resumeWith(Result.success(Unit))
            }
        return taken as? Received
    }

    @Suppress("UNCHECKED_CAST")
    private fun tryTakeOver(
        waiter: CancellableContinuation<*>,
        memory: MemorySlice,
        pin: RegisteredBuffer?,
    ): Boolean {
        pin?.pin()
        synchronized(lock) {
            val cause = ended
            if (cause == null && slots.takeOver(waiter as CancellableContinuation<Received>, memory, pin)) return true
            pin?.unpin()
            cause?.let { throw it }
        }
        return false
    }

    /** Has a credit, which is given back if no request is posted. */
    private fun start(
        waiter: CancellableContinuation<Received>,
        memory: MemorySlice,
        pin: RegisteredBuffer?,
    ) {
        var posted = false
        try {
            if (slots.hasLeft && tryTakeOver(waiter, memory, pin)) return
            pin?.pin()
            synchronized(lock) {
                ended?.let {
                    pin?.unpin()
                    throw it
                }
                val slot = slots.put(waiter, memory, pin)
                try {
                    post(key.toLong() shl 32 or slot.toLong(), memory)
                    posted = true
                } finally {
                    if (!posted && slots.takeBack(slot)) pin?.unpin()
                }
            }
        } finally {
            if (!posted) credits.release(1)
        }
    }

    override fun complete(
        request: Int,
        completion: WorkCompletion,
    ) {
        if (slots.complete(request, completion) > 0) credits.release(1)
    }

    override fun fail(cause: Throwable) {
        synchronized(lock) { if (ended == null) ended = cause }
        slots.fail(cause)
        credits.fail(cause)
    }

    /** The queue is gone. */
    fun end(cause: Throwable) {
        fail(cause)
        targets.remove(key)
        polled.remove(this)
        polled.giveBack(capacity)
    }
}
