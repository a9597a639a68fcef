package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.suspendCancellableCoroutine
import org.jetbrains.lincheck.datastructures.Operation
import org.jetbrains.lincheck.datastructures.Validate
import java.util.concurrent.atomic.AtomicInteger

/**
 * What Lincheck makes many of and runs from several threads: the slots of a send queue of two requests, used as
 * [SendSide] does: who posts has credits and a lock, one thread polls, and any may end it all.
 */
class SendSlotsUnderLincheck {
    private val slots = SendSlots(CAPACITY, Failures())
    private val credits = Credits(CAPACITY)
    private val pin = Pin()
    private val posting = Any()
    private var ended = false
    private var completed = 0

    /** How many the device has taken; it may complete them before who posts has heard of that. */
    private val accepted = AtomicInteger()

    @Operation(promptCancellation = true)
    suspend fun post() {
        credits.acquire(1)
        suspendCancellableCoroutine<Unit> { post(it) }
    }

    private fun post(waiter: CancellableContinuation<Unit>) {
        synchronized(posting) {
            check(!ended) { "ended" }
            pin.pin()
            slots.put(0, waiter, OPCODE, pin)
            slots.advance(1)
            accepted.incrementAndGet()
        }
    }

    /** A list of two, of which the device refuses the second: the first goes on, and nobody waits for it. */
    @Operation(promptCancellation = true)
    suspend fun postHalf() {
        credits.acquire(2)
        synchronized(posting) {
            check(!ended) { "ended" }
            pin.pin()
            slots.put(0, SendSlots.NOBODY, 0, null)
            slots.put(1, SendSlots.NOBODY, OPCODE, pin)
            slots.advance(2)
            accepted.incrementAndGet()
            slots.takeBack(1)
            if (!slots.keep(pin)) pin.unpin()
        }
        credits.release(1)
    }

    /** The oldest request is done, if one is under way. */
    @Operation(nonParallelGroup = "poller")
    fun complete(): Int {
        var count = 0
        if (completed < accepted.get()) {
            slots.complete(completed, Completions.all[0]) {
                count += it
                credits.release(it)
            }
            completed += count
        }
        return count
    }

    @Operation
    fun fail() {
        synchronized(posting) { ended = true }
        slots.fail(IllegalStateException("failed"))
        credits.fail(IllegalStateException("failed"))
    }

    /** All that is under way ends with the queue, and then nothing is held. */
    @Validate
    fun holdsNothing() {
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
        timeout = 300_000

        beforeSpec { Completions.all }

        test("should end each request once, as if one did it at a time, in every order that model checking tries") {
            checkOrders(SendSlotsUnderLincheck::class)
        }

        test("should end each request once, as if one did it at a time, under stress") {
            checkUnderStress(SendSlotsUnderLincheck::class)
        }
    })
