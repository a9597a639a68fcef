package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.suspendCancellableCoroutine
import java.util.concurrent.atomic.AtomicInteger

/**
 * Room in a queue. Who wants more than there is waits its turn: in the order of asking, a big wish before the small
 * ones behind it. Any thread.
 */
internal class Credits(
    private val capacity: Int,
) {
    private class Waiter(
        val count: Int,
        val continuation: CancellableContinuation<Unit>,
    )

    private val free = AtomicInteger(capacity)

    /** How many nobody has taken. */
    val available: Int get() = free.get()

    /** How many wait for some. */
    val waitingCount: Int get() = waiting
    private val waiters = ArrayDeque<Waiter>()

    /** How many wait, readable without the lock. Written with it, before the free credits are looked at once more. */
    @Volatile
    private var waiting = 0
    private var failure: Throwable? = null

    /**
     * Takes [count] credits if there are so many and nobody waits for any. It may say no while those of a waiter that
     * was cancelled at its last moment are on their way back: who can't do without calls [acquire].
     */
    fun tryAcquire(count: Int): Boolean = waiting == 0 && take(count)

    /** Takes [count] credits if there are so many, though others wait for more. */
    fun take(count: Int): Boolean {
        while (true) {
            val now = free.get()
            if (now < count) return false
            if (free.compareAndSet(now, now - count)) return true
        }
    }

    /**
     * Takes [count] credits, and suspends until there are so many. Cancelled, it takes none.
     *
     * @throws IllegalArgumentException if there never can be so many
     */
    suspend fun acquire(count: Int) {
        require(count <= capacity) {
            "$count requests at once do not fit into a queue of $capacity; make fewer, or the queue longer"
        }
        if (!tryAcquire(count)) await(count)
    }

    private suspend fun await(count: Int): Unit =
        suspendCancellableCoroutine { continuation ->
            val waiter = Waiter(count, continuation)
            val failed =
                synchronized(waiters) {
                    if (failure == null) {
                        waiters.addLast(waiter)
                        waiting = waiters.size
                    }
                    failure
                }
            when {
                failed == null -> {
                    continuation.invokeOnCancellation { forget(waiter) }
                    grant()
                }

                // They may have come back since the caller looked, as for who asks after the end.
                take(count) -> {
                    continuation.resume(Unit) { _, _, _ -> release(count) }
                }

                else -> {
                    continuation.fail(failed)
                }
            }
        }

    private fun forget(waiter: Waiter) {
        synchronized(waiters) {
            waiters.remove(waiter)
            waiting = waiters.size
        }
        grant() // it may have stood before others that fit
    }

    /** Gives [count] credits back. */
    fun release(count: Int) {
        free.addAndGet(count)
        if (waiting != 0) grant()
    }

    private fun grant() {
        while (true) {
            val waiter =
                synchronized(waiters) {
                    val first = waiters.firstOrNull() ?: return
                    if (!take(first.count)) return
                    waiters.removeFirst()
                    waiting = waiters.size
                    first
                }
            // Cancelled meanwhile, or on its way to run again: what it can't use goes back.
            val isWoken = waking { waiter.continuation.resume(Unit) { _, _, _ -> release(waiter.count) } }
            if (!isWoken) free.addAndGet(waiter.count)
        }
    }

    /** Ends all waits, now and from now on, with [cause]. Who finds enough credits still has them. */
    fun fail(cause: Throwable) {
        val ended =
            synchronized(waiters) {
                failure = cause
                waiters.toList().also {
                    waiters.clear()
                    waiting = 0
                }
            }
        ended.forEach { it.continuation.fail(cause) }
    }

    /** Takes a credit, and gives it back if [use] ends without having said that it is spent. */
    suspend inline fun holding(use: (spend: () -> Unit) -> Unit) {
        acquire(1)
        var spent = false
        try {
            use { spent = true }
        } finally {
            if (!spent) release(1)
        }
    }
}
