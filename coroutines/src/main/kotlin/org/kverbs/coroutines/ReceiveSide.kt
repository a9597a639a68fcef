package org.kverbs.coroutines

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.suspendCancellableCoroutine
import org.kverbs.MemorySlice
import org.kverbs.WorkCompletion

/** A receive queue, of one queue pair or shared: who waits for a message, or for room in the queue. */
internal class ReceiveSide(
    dispatcher: CompletionDispatcher,
    polled: PolledQueue,
    capacity: Int,
    failures: Failures,
    private val post: (Long, MemorySlice) -> Unit,
) : RequestSide(dispatcher, polled, capacity) {
    private val slots = ReceiveSlots(capacity, failures)
    private val credits = Credits(maxOf(capacity, 1))
    private val freed = { credits.release(1) }

    init {
        begin()
    }

    /** Posts a receive, or takes over one that nobody waits for, and suspends until a message has come. */
    suspend fun await(
        memory: MemorySlice,
        pin: RegisteredBuffer?,
    ): Received {
        checkCapacity()
        // In tail position: see SendSide.
        if (!slots.hasLeft && credits.tryAcquire(1)) return start(memory, pin)
        return awaitTurn(memory, pin)
    }

    /** Does so at once, and leaves it to the caller when to wait. */
    fun post(
        memory: MemorySlice,
        pin: RegisteredBuffer?,
    ): Deferred<Received> {
        checkCapacity()
        val message = CompletableDeferred<Received>()
        if (slots.hasLeft && tryTakeOver(message, memory, pin)) return message
        if (!credits.tryAcquire(1)) refuse()
        start(message, memory, pin)
        return message
    }

    private fun checkCapacity() = check(capacity > 0) { "this queue pair was made with maxRecvWr(0): it can't receive" }

    private fun refuse(): Nothing {
        synchronized(lock) { checkNotEnded() } // a queue that has ended stays as full as it was
        error(
            "all $capacity receives of this queue are posted, or others wait to post one: await a message first, or make the queue longer",
        )
    }

    private suspend fun awaitTurn(
        memory: MemorySlice,
        pin: RegisteredBuffer?,
    ): Received {
        // The credits may all be with requests that nobody waits for.
        if (slots.hasLeft) takeOver(memory, pin)?.let { return it }
        credits.acquire(1)
        return start(memory, pin)
    }

    private suspend fun start(
        memory: MemorySlice,
        pin: RegisteredBuffer?,
    ): Received = suspendCancellableCoroutine { start(it, memory, pin) }

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

    private fun tryTakeOver(
        waiter: Any,
        memory: MemorySlice,
        pin: RegisteredBuffer?,
    ): Boolean {
        pin?.pin()
        var taken = false
        try {
            synchronized(lock) {
                checkNotEnded()
                taken = slots.takeOver(waiter, memory, pin)
            }
        } finally {
            if (!taken) pin?.unpin()
        }
        return taken
    }

    /** Has a credit, which is given back if no request is posted. */
    private fun start(
        waiter: Any,
        memory: MemorySlice,
        pin: RegisteredBuffer?,
    ) {
        var posted = false
        var pinned: RegisteredBuffer? = null
        try {
            if (slots.hasLeft && tryTakeOver(waiter, memory, pin)) return
            pin?.pin()
            pinned = pin
            synchronized(lock) {
                checkNotEnded()
                val slot = slots.put(waiter, memory, pin)
                try {
                    post(id(slot), memory)
                    posted = true
                } finally {
                    if (!posted) slots.takeBack(slot)
                }
            }
        } finally {
            if (!posted) {
                pinned?.unpin()
                credits.release(1)
            }
        }
    }

    override fun complete(
        request: Int,
        completion: WorkCompletion,
    ) {
        slots.complete(request, completion, freed)
    }

    override fun failWaits(cause: Throwable) {
        slots.fail(cause)
        credits.fail(cause)
    }
}
