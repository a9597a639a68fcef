package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionStatus
import java.util.concurrent.atomic.AtomicReferenceArray
import kotlin.coroutines.resume

/**
 * The requests of a send queue that are under way, in the order of posting, which is the order of completing. A request
 * that makes no completion of its own is over when one behind it is.
 *
 * One thread at a time posts, the polling thread completes, and any thread may [fail] all: what stands in a slot
 * belongs to whoever takes it out.
 *
 * @param capacity how many can be under way; the caller keeps to it
 */
internal class SendSlots(
    capacity: Int,
    private val failures: Failures,
) {
    private val mask = count(capacity) - 1

    /** Stands for a request that nobody waits for, and that pins something all the same. */
    private class Kept(
        val pin: Any,
    )

    /** A continuation, an [AtomicWaiter], [NOBODY] or a [Kept]; null where no request is under way. */
    private val waiters = AtomicReferenceArray<Any>(mask + 1)

    /** What the request pins, and what it is: written before the waiter, read by who took that out. */
    private val pins = arrayOfNulls<Any>(mask + 1)
    private val opcodes = IntArray(mask + 1)

    /** Of how many requests it is the last, for which somebody waits together. */
    private val counts = IntArray(mask + 1)

    /** The last request that failed by itself, not flushed, and how. The polling thread's. */
    private var failed = 0
    private var failedWith: WorkCompletionException? = null

    /** The number of the next request, counted without end. Written by who posts. */
    private var tail = 0

    /** The oldest request that may be under way. The polling thread's. */
    private var head = 0

    /** How many slots there are: each request's is its number modulo this. */
    val size: Int get() = mask + 1

    /** The number of the next request. */
    fun next(): Int = tail

    /**
     * Says who waits for a request that is about to be posted.
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

    /** The next [count] requests are posted, or about to be. */
    fun advance(count: Int) {
        tail += count
    }

    /** The last [count] requests were refused: they have no waiters any more. The pins stay the caller's. */
    fun takeBack(count: Int) {
        tail -= count
        for (ahead in 0 until count) waiters.set(tail + ahead and mask, null)
    }

    /** Leaves [pin] with the request that was posted last, which nobody waits for. False if it has ended already. */
    fun keep(pin: Any): Boolean {
        // In one step: the polling thread may end the request meanwhile.
        return waiters.compareAndSet(tail - 1 and mask, NOBODY, Kept(pin))
    }

    /**
     * A request has ended, and with it all before it.
     *
     * @param freed told how many ended, before who waits runs again, who may do so at once and post the next
     */
    inline fun complete(
        number: Int,
        completion: WorkCompletion,
        freed: (Int) -> Unit,
    ) {
        val count = number - head + 1
        if (count < 1 || count > size) return
        val waiter = take(number)
        if (waiter is AtomicWaiter) waiter.take(number and mask)
        // Noted though nobody waits: a close that is under way may have ended this wait, and not yet those behind it.
        val failure = if (completion.isSuccess) null else failureOf(number, completion)
        freed(count)
        if (waiter != null) resume(waiter, failure)
    }

    /** Of requests that are awaited together, the failure that came first flushed the others. */
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

    /** Empties the slots up to a request's. Returns who waits for that. */
    private fun take(number: Int): Any? {
        while (head != number) {
            val slot = head++ and mask
            waiters.getAndSet(slot, null)?.let { unpin(slot, it) }
        }
        val slot = head++ and mask
        return waiters.getAndSet(slot, null)?.also { unpin(slot, it) }
    }

    @Suppress("UNCHECKED_CAST")
    private fun resume(
        waiter: Any,
        failure: Throwable?,
    ) {
        when (waiter) {
            is AtomicWaiter -> waiter.resume(failure)
            is CancellableContinuation<*> -> resumeUnit(waiter as CancellableContinuation<Unit>, failure)
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
        when (val pin = if (waiter is Kept) waiter.pin else pins[slot]) {
            is RegisteredBuffer -> pin.unpin()
            is List<*> -> pin.forEach { (it as RegisteredBuffer).unpin() }
        }
        pins[slot] = null
    }

    /** Ends all waits with [cause]; no completion comes any more. */
    fun fail(cause: Throwable) {
        for (slot in 0..mask) {
            val waiter = waiters.getAndSet(slot, null) ?: continue
            unpin(slot, waiter)
            resume(waiter, cause)
        }
    }

    /** Ends all waits with [cause]. Requests that have not completed keep what they pin. */
    fun stop(cause: Throwable) {
        for (slot in 0..mask) {
            val waiter = waiters.getAcquire(slot) ?: continue
            if (waiter === NOBODY || waiter is Kept) continue
            // Another waiter in the slot meanwhile has its own pin, and the exchange fails.
            val left = pins[slot]?.let(::Kept) ?: NOBODY
            if (waiters.compareAndSet(slot, waiter, left)) resume(waiter, cause)
        }
    }

    companion object {
        /** Stands for a request that nobody waits for. */
        val NOBODY: Any = Any()

        /** How many slots there are for a capacity. */
        fun count(capacity: Int): Int = Integer.highestOneBit(maxOf(capacity, 2) * 2 - 1)
    }
}
