package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import kotlinx.coroutines.suspendCancellableCoroutine
import org.jetbrains.lincheck.datastructures.Operation
import org.jetbrains.lincheck.datastructures.Validate

/**
 * What Lincheck makes many of and runs from several threads: the slots of a receive queue of two requests, used as [ReceiveSide] does.
 * The messages come in order, 1 byte, 2 bytes, 3 bytes and so on.
 */
class ReceiveSlotsUnderLincheck {
    private val slots = ReceiveSlots(CAPACITY, Failures())
    private val pin = Pin()
    private val posting = Any()
    private val posted = ArrayDeque<Int>()
    private var free = CAPACITY
    private var ended = false
    private var messages = 0

    /** The length of the message, 0 for none. */
    @Operation(promptCancellation = true)
    suspend fun receive(): Long {
        val taken =
            suspendCancellableCoroutine<Any> { waiter ->
                @Suppress("UNCHECKED_CAST")
                val receiver = waiter as kotlinx.coroutines.CancellableContinuation<Received>
                val done =
                    synchronized(posting) {
                        when {
                            ended -> false
                            slots.takeOver(receiver, Completions.memory, pin.also { it.pin() }) -> true
                            free == 0 -> false.also { pin.unpin() }
                            else -> true.also { posted.addLast(slots.put(receiver, Completions.memory, pin)).also { free-- } }
                        }
                    }
                if (!done) waiter.resumeWith(Result.success(Unit))
            }
        return (taken as? Received)?.length ?: 0
    }

    /** A message comes to the oldest request, if there is one. */
    @Operation(nonParallelGroup = "poller")
    fun complete(): Boolean {
        val slot = synchronized(posting) { posted.removeFirstOrNull() } ?: return false
        var isDone = false
        slots.complete(slot, Completions.all[messages++]) {
            synchronized(posting) { free++ }
            isDone = true
        }
        return isDone
    }

    @Operation
    fun fail() {
        synchronized(posting) {
            ended = true
            posted.clear()
        }
        slots.fail(IllegalStateException("failed"))
    }

    /** All that is under way ends with the queue, and then nothing is held. */
    @Validate
    fun holdsNothing() {
        fail()
        check(pin.held == 0) { "${pin.held} requests still hold their buffer" }
    }

    private companion object {
        const val CAPACITY = 2
    }
}

class ReceiveSlotsLincheckSpec :
    FunSpec({
        timeout = 300_000

        beforeSpec { Completions.all }

        test("should hand each message to one receive, as if one did it at a time, in every order that model checking tries") {
            checkOrders(ReceiveSlotsUnderLincheck::class)
        }

        test("should hand each message to one receive, as if one did it at a time, under stress") {
            checkUnderStress(ReceiveSlotsUnderLincheck::class)
        }
    })
