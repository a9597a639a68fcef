package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.suspendCancellableCoroutine
import org.kverbs.Resource
import org.kverbs.internal.jfr.FlightRecords
import org.kverbs.internal.jfr.MeasuredWait
import java.util.concurrent.atomic.AtomicInteger

/**
 * Counts the free entries of a queue. A caller that needs more than are free waits. Callers are served in the order of
 * their calls, even if a later call needs fewer. Any thread can call.
 *
 * @param what what a credit is, for the slow waits of Flight Recorder
 * @param where whose credits they are; null to record no slow waits
 */
internal class Credits(
    private val capacity: Int,
    private val what: String = "credit",
    private val where: Resource? = null,
) {
    private class Waiter(
        val count: Int,
        val continuation: CancellableContinuation<Unit>,
        val measured: MeasuredWait?,
    )

    private val free = AtomicInteger(capacity)

    /** Number of free credits. */
    val available: Int get() = free.get()

    /** Number of callers that wait. */
    val waitingCount: Int get() = waiting
    private val waiters = ArrayDeque<Waiter>()

    /**
     * Number of callers that wait; read without the lock. It is written under the lock, before the free credits are
     * checked again.
     */
    @Volatile
    private var waiting = 0
    private var failure: Throwable? = null

    /**
     * Takes [count] credits if they are free and no caller waits. It can return false while the credits of a just
     * cancelled waiter are being given back; a caller that needs the credits calls [acquire].
     */
    fun tryAcquire(count: Int): Boolean = waiting == 0 && take(count)

    /** Takes [count] credits if they are free, even if other callers wait for more. */
    fun take(count: Int): Boolean {
        while (true) {
            val now = free.get()
            if (now < count) return false
            if (free.compareAndSet(now, now - count)) return true
        }
    }

    /**
     * Takes [count] credits; suspends until they are free. A cancelled caller takes none.
     *
     * @throws IllegalArgumentException if [count] is above the capacity
     */
    suspend fun acquire(count: Int) {
        require(count <= capacity) {
            "$count requests at once do not fit into a queue of $capacity; post fewer at once, or make the queue longer"
        }
        if (!tryAcquire(count)) await(count)
    }

    private suspend fun await(count: Int): Unit =
        suspendCancellableCoroutine { continuation ->
            val waiter = Waiter(count, continuation, if (where == null) null else FlightRecords.beginWait())
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

                // The credits can have come back since the check above; credits that are free can be taken after the
                // end, too.
                take(count) -> {
                    continuation.resume(Unit) { _, _, _ -> release(count) }
                }

                else -> {
                    continuation.fail(failed)
                }
            }
        }

    private fun Waiter.ended() {
        if (where != null) measured?.end(what, where::describe)
    }

    private fun forget(waiter: Waiter) {
        val left =
            synchronized(waiters) {
                waiters.remove(waiter).also { waiting = waiters.size }
            }
        if (left) waiter.ended()
        grant() // callers behind it can need fewer
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
            wake(waiter)
        }
    }

    /** Wakes a caller that has its credits. One that is cancelled before it runs gives them back. */
    private fun wake(waiter: Waiter) {
        waiter.ended()
        val isWoken = waking { waiter.continuation.resume(Unit) { _, _, _ -> release(waiter.count) } }
        if (!isWoken) free.addAndGet(waiter.count)
    }

    /** Ends all waits, now and from now on, with [cause]. A caller that finds enough free credits still gets them. */
    fun fail(cause: Throwable) {
        val served = ArrayList<Waiter>()
        val ended =
            synchronized(waiters) {
                failure = cause
                // A caller that has not looked again since it waits: the credits can have come back just before.
                while (waiters.isNotEmpty() && take(waiters.first().count)) served += waiters.removeFirst()
                waiters.toList().also {
                    waiters.clear()
                    waiting = 0
                }
            }
        served.forEach(::wake)
        ended.forEach {
            it.ended()
            it.continuation.fail(cause)
        }
    }

    /** Takes a credit for [use], and gives it back unless [use] has called `spend`. */
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
