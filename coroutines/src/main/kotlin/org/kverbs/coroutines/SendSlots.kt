package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionStatus
import java.util.concurrent.atomic.AtomicReferenceArray
import kotlin.coroutines.resume

/**
 * Tracks the requests of a send queue that are under way, in the order of posting, which is the order of completion. A
 * request without a completion of its own has ended when a later one completes.
 *
 * One thread at a time posts, the polling thread completes, and any thread can call [fail]: the thread that takes a
 * waiter out of its slot owns it.
 *
 * @param capacity the most requests under way; the caller observes it
 */
internal class SendSlots(
    capacity: Int,
    private val failures: Failures,
) : Awaited {
    private val mask = count(capacity) - 1

    /** The waiter of a request that no caller waits for, but that pins something. */
    private class Kept(
        val pin: Any,
    )

    /**
     * A continuation, a [PollingWait], an [AtomicWaiter], a [Glance], [SOON], [NOBODY] or a [Kept]; null if no request
     * is under way.
     */
    private val waiters = AtomicReferenceArray<Any>(mask + 1)

    /**
     * The buffers that the request pins, and its opcode: written before the waiter, read by the thread that took the
     * waiter out.
     */
    private val pins = arrayOfNulls<Any>(mask + 1)
    private val opcodes = IntArray(mask + 1)

    /** The number of requests in the batch up to this one, for which one caller waits. */
    private val counts = IntArray(mask + 1)

    /** The last request that failed without being flushed, and its failure. Used by the polling thread only. */
    private var failed = 0
    private var failedWith: WorkCompletionException? = null

    /** The number of the next request; it wraps around. Written by the posting thread. */
    private var tail = 0

    /** The oldest request that can be under way. Used by the polling thread only. */
    private var head = 0

    /** Number of slots: a request has the slot with its number modulo this. */
    val size: Int get() = mask + 1

    /** Returns the number of the next request. */
    fun next(): Int = tail

    /**
     * Sets the waiter of a request that is about to be posted.
     *
     * @param ahead 0 for the next request, 1 for the one behind it, and so on
     * @param pin a [RegisteredBuffer] or a list of them, already pinned
     */
    fun put(
        ahead: Int,
        waiter: Any,
        opcode: Int,
        pin: Any?,
    ) {
        val slot = tail + ahead and mask
        opcodes[slot] = opcode
        counts[slot] = ahead + 1
        pins[slot] = pin
        waiters.setRelease(slot, waiter)
    }

    /** Advances past [count] requests that are posted or about to be posted. */
    fun advance(count: Int) {
        tail += count
    }

    /** Removes the waiters of the last [count] requests, which the device refused. The caller keeps their pins. */
    fun takeBack(count: Int) {
        tail -= count
        for (ahead in 0 until count) waiters.set(tail + ahead and mask, null)
    }

    /** Leaves [pin] to the last posted request, which has no waiter. False if that request has ended. */
    fun keep(pin: Any): Boolean {
        // In one step: the polling thread can end the request meanwhile.
        return waiters.compareAndSet(tail - 1 and mask, NOBODY, Kept(pin))
    }

    /**
     * Takes the completion of a request, which also ends all requests before it.
     *
     * @param freed called with the number of ended requests before the waiter is resumed: it can run at once and post
     *   its next request
     */
    inline fun complete(
        number: Int,
        completion: WorkCompletion,
        freed: (Int) -> Unit,
    ) {
        val count = number - head + 1
        if (count < 1 || count > size) return
        // Before anything else: a buffer that is given back below can resume a coroutine here that takes further
        // completions, and then the completion is another one. The read shows what the poster noted.
        waiters.getAcquire(number and mask)
        // Note the failure even without a waiter: a close under way can have ended this wait, but not yet those behind
        // it.
        val failure = if (completion.isSuccess) null else failureOf(number, completion)
        val waiter = take(number)
        if (waiter is AtomicWaiter) waiter.take(number and mask)
        freed(count)
        // No `when` here: the compiler makes a dynamic call of it, which the JIT does not always see through.
        if (waiter is Glance) {
            waiter.end(this, number, failure)
        } else if (waiter != null) {
            resume(waiter, failure)
        }
    }

    /**
     * Lets [waiter] wait in place of [standIn], a [Glance] or [SOON], for a request that has not completed. False if
     * the wait has ended because the queue has. Only the polling thread calls this.
     */
    fun attach(
        number: Int,
        standIn: Any,
        waiter: Any,
    ): Boolean = waiters.compareAndSet(number and mask, standIn, waiter)

    /** Has a coroutine wait no more. Its request goes on, and keeps its buffers until it has completed. */
    override fun leave(wait: PollingWait): Boolean = waiters.compareAndSet(wait.request and mask, wait, NOBODY)

    /**
     * Returns the failure of a request. In a batch the first failure has flushed the other requests, and is the one to
     * report.
     */
    private fun failureOf(
        number: Int,
        completion: WorkCompletion,
    ): WorkCompletionException {
        val slot = number and mask
        val failure = failures.of(completion, opcodes[slot])
        if (failure.status() != WorkCompletionStatus.WR_FLUSH_ERR) {
            failed = number
            failedWith = failure
        }
        return failedWith?.takeIf { number - failed in 0 until counts[slot] } ?: failure
    }

    /** Empties the slots up to that of a request. Returns the request's waiter. */
    private fun take(number: Int): Any? {
        while (head != number) {
            val slot = head++ and mask
            waiters.getAndSet(slot, null)?.let { unpin(slot, it) }
        }
        val slot = head++ and mask
        val waiter = waiters.getAcquire(slot)
        if (waiter is Glance && pins[slot] == null) {
            // An ordinary store: another thread that takes out a glance without a pin changes nothing.
            waiters.setRelease(slot, null)
            return waiter
        }
        return waiters.getAndSet(slot, null)?.also { unpin(slot, it) }
    }

    @Suppress("UNCHECKED_CAST")
    private fun resume(
        waiter: Any,
        failure: Throwable?,
    ) {
        if (waiter is PollingWait) {
            // Without a failure this is the polling thread, which takes the completion.
            if (failure == null) waiter.resumeHere(Unit) else waiter.fail(failure)
        } else if (waiter is CancellableContinuation<*>) {
            resumeUnit(waiter as CancellableContinuation<Unit>, failure)
        } else if (waiter is AtomicWaiter) {
            waiter.resume(failure)
        }
    }

    private fun resumeUnit(
        waiter: CancellableContinuation<Unit>,
        failure: Throwable?,
    ) {
        if (failure == null) waking { waiter.resume(Unit) } else waiter.fail(failure)
    }

    private fun unpin(
        slot: Int,
        waiter: Any,
    ) {
        val pin = (if (waiter is Kept) waiter.pin else pins[slot]) ?: return
        pins[slot] = null
        // The last unpin can close a region, which the device can refuse. The waiter is resumed all the same.
        if (pin is RegisteredBuffer) {
            waking { pin.unpin() }
        } else {
            (pin as List<*>).forEach { waking { (it as RegisteredBuffer).unpin() } }
        }
    }

    /** Ends all waits with [cause], as no completion comes any more. */
    fun fail(cause: Throwable) {
        for (slot in 0..mask) {
            val waiter = waiters.getAndSet(slot, null) ?: continue
            unpin(slot, waiter)
            resume(waiter, cause)
        }
    }

    /** Ends all waits with [cause]. Requests that have not completed keep their pins. */
    fun stop(cause: Throwable) {
        for (slot in 0..mask) stop(slot, cause)
    }

    /**
     * Ends the wait of one slot. Tries again if the waiter changes meanwhile, which [attach] does for the same request:
     * the caller of [stop] has seen to it that none is posted any more.
     */
    private fun stop(
        slot: Int,
        cause: Throwable,
    ) {
        while (true) {
            val waiter = waiters.getAcquire(slot) ?: return
            if (waiter === NOBODY || waiter is Kept) return
            val left = pins[slot]?.let(::Kept) ?: NOBODY
            if (waiters.compareAndSet(slot, waiter, left)) return resume(waiter, cause)
        }
    }

    companion object {
        /** The waiter of a request that no caller waits for. */
        val NOBODY: Any = Any()

        /**
         * The waiter of a request whose poster is about to [attach] the real one. The end of the queue takes it out as
         * it does with a waiter.
         */
        val SOON: Any = Any()

        /** Returns the number of slots for a capacity. */
        fun count(capacity: Int): Int = Integer.highestOneBit(maxOf(capacity, 2) * 2 - 1)
    }
}
