package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import kotlinx.coroutines.suspendCancellableCoroutine
import org.jetbrains.lincheck.datastructures.Operation
import org.jetbrains.lincheck.datastructures.Validate
import java.util.concurrent.ConcurrentLinkedQueue
import kotlin.coroutines.resumeWithException

/**
 * The class that Lincheck creates many times and runs with several threads: the slots of a send queue of two requests,
 * used as [SendSide] uses them: a posting thread holds credits and a lock, one thread polls, and any thread can end all
 * requests.
 */
class SendSlotsUnderLincheck {
    private val slots = SendSlots(CAPACITY, Failures())
    private val credits = Credits(CAPACITY)
    private val glance = Glance()
    private val pin = Pin()
    private val posting = Any()
    private var ended = false

    /**
     * The requests that the device has taken and that create a completion; it can complete them before the post call
     * returns.
     */
    private val accepted = ConcurrentLinkedQueue<Int>()

    @Operation(promptCancellation = true)
    suspend fun post() {
        credits.acquire(1)
        suspendCancellableCoroutine<Unit> { post(it) }
    }

    private fun post(
        waiter: Any,
        pin: Pin? = this.pin,
    ): Int =
        synchronized(posting) {
            check(!ended) { "ended" }
            pin?.pin()
            val number = slots.next()
            if (waiter is Glance) waiter.begin(slots, number)
            slots.put(0, waiter, OPCODE, pin)
            slots.advance(1)
            accepted.add(number)
            number
        }

    /** Posts as a coroutine of the polling thread does: it looks once for the completion, and waits only then. */
    @Operation(nonParallelGroup = "poller", promptCancellation = true)
    suspend fun postAndLook() = postAndLook(pin)

    /** Does the same for memory that is not pinned, where the slot is emptied by an ordinary store. */
    @Operation(nonParallelGroup = "poller", promptCancellation = true)
    suspend fun postUnpinnedAndLook() = postAndLook(null)

    private suspend fun postAndLook(pin: Pin?) {
        credits.acquire(1)
        val number = post(glance, pin)
        complete()
        if (glance.isDone) return
        suspendCancellableCoroutine<Unit> {
            if (!slots.attach(number, glance, it)) it.resumeWithException(IllegalStateException("failed"))
        }
    }

    /** Posts a list of two requests of which the device refuses the second: the first goes on without a waiter. */
    @Operation(promptCancellation = true)
    suspend fun postHalf() = postHalf(isSignaled = true)

    /** Does the same, but the first creates no completion, as in a list: it ends with a later one. */
    @Operation(promptCancellation = true)
    suspend fun postQuietHalf() = postHalf(isSignaled = false)

    private suspend fun postHalf(isSignaled: Boolean) {
        credits.acquire(2)
        synchronized(posting) {
            check(!ended) { "ended" }
            pin.pin()
            val number = slots.next()
            slots.put(0, SendSlots.NOBODY, 0, null)
            slots.put(1, SendSlots.NOBODY, OPCODE, pin)
            slots.advance(2)
            if (isSignaled) accepted.add(number)
            slots.takeBack(1)
            if (!slots.keep(pin)) pin.unpin()
        }
        credits.release(1)
    }

    /** Completes the oldest request that creates a completion, with those before it, if one is under way. */
    @Operation(nonParallelGroup = "poller")
    fun complete(): Int {
        val number = accepted.poll() ?: return 0
        var count = 0
        slots.complete(number, Completions.all[0]) {
            count += it
            credits.release(it)
        }
        return count
    }

    @Operation
    fun fail() {
        synchronized(posting) { ended = true }
        slots.fail(IllegalStateException("failed"))
        credits.fail(IllegalStateException("failed"))
    }

    /** Ends all waits, as the device flushes no request of this queue any more. */
    @Operation
    fun stop() {
        synchronized(posting) { ended = true }
        slots.stop(IllegalStateException("failed"))
        credits.fail(IllegalStateException("failed"))
    }

    /** Completes what the device has taken, and ends the rest with the queue, after which no buffer is pinned. */
    @Validate
    fun holdsNothing() {
        while (accepted.isNotEmpty()) complete()
        fail()
        check(pin.held == 0) { "${pin.held} requests still hold their buffer" }
    }

    private companion object {
        const val CAPACITY = 2
        const val OPCODE = 1
    }
}

class SendSlotsLincheckSpec :
    FunSpec({
        timeout = 1_200_000

        beforeSpec { Completions.all }

        test("should end each request once, as one thread would, in every order that model checking tries") {
            checkOrders(SendSlotsUnderLincheck::class)
        }

        test("should end each request once, as one thread would, under stress") {
            checkUnderStress(SendSlotsUnderLincheck::class)
        }
    })
