package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.suspendCancellableCoroutine
import org.jetbrains.lincheck.datastructures.Operation

/**
 * The slots of a receive queue of two requests, used as [ReceiveSide] uses them, and a peer whose messages wait for
 * posted requests.
 */
private class Receiving {
    private val stage = ReceiveStage { Completions.memory.region() }
    private val slots = ReceiveSlots(CAPACITY, Failures(), stage)
    private val device = Any()
    private val posted = ArrayDeque<ReceiveSlot>()
    private var onTheWay = 0
    private var arrived = 0

    suspend fun receive(): Long =
        suspendCancellableCoroutine<Received> { receiver ->
            while (!slots.tryJoin(receiver, LENGTH)) {
                val slot = synchronized(device) { slots.put(receiver, LENGTH)?.also(posted::addLast) }
                if (slot != null) break
            }
            deliver()
        }.let { slots.memory.take(it, Completions.memory).length }

    fun send() {
        synchronized(device) { onTheWay++ }
        deliver()
    }

    private fun deliver(): Unit =
        synchronized(device) {
            while (onTheWay > 0 && posted.isNotEmpty()) {
                onTheWay--
                slots.complete(posted.removeFirst().index, Completions.all[arrived++])
                while (slots.isAwaited) posted.addLast(slots.promote()?.slot ?: break)
            }
        }

    private companion object {
        const val CAPACITY = 2
        const val LENGTH = 64L
    }
}

/**
 * The class that Lincheck creates many times and runs with several threads. The messages come in the order 1 byte, 2
 * bytes, 3 bytes and so on, and their receivers must get them in this order, as in [MessagesInOrder].
 *
 * The model is a class of its own, because a comparison with this class itself hid a fault that one thread shows, too:
 * a message by the request of a cancelled receiver passed the receiver that waited.
 */
class ReceiveSlotsUnderLincheck {
    private val receiving = Receiving()

    /** The length of the message. */
    @Operation
    suspend fun receive(): Long = receiving.receive()

    @Operation
    fun send(): Unit = receiving.send()
}

/** A simple model of a receive queue. */
class MessagesInOrder {
    private val receivers = ArrayDeque<CancellableContinuation<Long>>()
    private val messages = ArrayDeque<Long>()
    private var sent = 0L

    suspend fun receive(): Long = messages.removeFirstOrNull() ?: suspendCancellableCoroutine { receivers.addLast(it) }

    fun send() {
        val message = ++sent
        while (true) {
            val next = receivers.removeFirstOrNull() ?: break
            if (next.isActive) return next.resumeWith(Result.success(message))
        }
        messages.addLast(message)
    }
}

/**
 * The same with receivers that are cancelled after they were resumed. Their messages go to the next receiver, perhaps
 * after a later message that was given to a receiver meanwhile; therefore this checks only that no message is lost or
 * arrives twice.
 */
class LateReceiveSlotsUnderLincheck {
    private val receiving = Receiving()

    @Operation(promptCancellation = true)
    suspend fun receive(): Boolean = receiving.receive() > 0

    @Operation
    fun send(): Unit = receiving.send()
}

class ReceiveSlotsLincheckSpec :
    FunSpec({
        timeout = 1_200_000

        beforeSpec { Completions.all }

        test("should hand the messages to the receivers in order, in every order of steps that model checking tries") {
            checkOrders(ReceiveSlotsUnderLincheck::class, MessagesInOrder::class)
        }

        test("should hand the messages to the receivers in order, under stress") {
            checkUnderStress(ReceiveSlotsUnderLincheck::class, MessagesInOrder::class)
        }

        test(
            "should lose no message to a receiver that is cancelled late, in every order of steps that model " +
                "checking tries",
        ) {
            checkOrders(LateReceiveSlotsUnderLincheck::class)
        }

        test("should lose no message to a receiver that is cancelled late, under stress") {
            checkUnderStress(LateReceiveSlotsUnderLincheck::class)
        }
    })
