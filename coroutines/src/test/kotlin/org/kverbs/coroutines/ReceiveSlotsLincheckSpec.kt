package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.suspendCancellableCoroutine
import org.jetbrains.lincheck.datastructures.Operation

/**
 * The slots of a receive queue of two requests, used as [ReceiveSide] does, and a peer whose messages wait until they
 * are posted.
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
        }.let { slots.take(it, Completions.memory).length }

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
 * What Lincheck makes many of and runs from several threads. The messages come in order, 1 byte, 2 bytes, 3 bytes and
 * so on, and so must their receivers get them, as [MessagesInOrder] says.
 *
 * Compared with itself run by one thread, as it was, this class hid a fault that one thread alone shows: that a message
 * by the request of a cancelled receiver passed the receiver that waited.
 */
class ReceiveSlotsUnderLincheck {
    private val receiving = Receiving()

    /** The length of the message. */
    @Operation
    suspend fun receive(): Long = receiving.receive()

    @Operation
    fun send(): Unit = receiving.send()
}

/** What a receive queue does, said simply. */
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
 * behind a later message that has been handed over meanwhile; so this looks only that none is lost or comes twice.
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
        timeout = 300_000

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
