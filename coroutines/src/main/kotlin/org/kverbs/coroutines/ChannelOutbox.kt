package org.kverbs.coroutines

import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import org.kverbs.MemorySlice
import org.kverbs.SendRequests
import org.kverbs.WorkCompletionOpcode
import java.lang.foreign.MemorySegment

/**
 * What a channel sends: headers and short bodies stand in slots of their own, one a send request, until that has
 * completed.
 */
internal class ChannelOutbox(
    private val link: ChannelLink,
) {
    private val debts = link.debts
    private val messages get() = link.pair.messages
    private val controls get() = link.pair.controls

    /** Held from the decision what to say until it is posted, so that nothing overtakes it. */
    private val sayLock = Any()

    @Volatile
    private var finished = false

    /** One finish at a time; the next waits for it. */
    private val finishing = Mutex()
    private var isThere = false

    /** Room for messages in the send queue. */
    val room: Credits get() = messages.credits

    /**
     * Sends a short message that costs a credit, and doesn't wait for its end. [body] fills the slot behind the header.
     */
    suspend fun send(
        kind: Int,
        length: Int,
        body: (MemorySegment) -> Unit,
    ): Unit =
        link.window().credits.holding { spend ->
            room.acquire(1)
            post(kind, length) { slot ->
                body(slot)
                spend()
            }
        }

    /**
     * Posts a message for which the caller has room and a credit of the peer. The room is given back if it isn't
     * posted.
     */
    fun post(
        kind: Int,
        length: Int,
        body: (MemorySegment) -> Unit,
    ) {
        val slot = stage()
        messages.postForNobody(SEND, slot) { requests, id ->
            checkAlive()
            link.window().use()
            body(slot.memory)
            putHeader(slot, kind, length)
            requests.send(id).from(slot.part(0, (ChannelMessage.HEADER + length).toLong()))
        }
    }

    /**
     * Posts a message whose body stands in a buffer, and suspends until the buffer is free. The caller has a credit of
     * the peer.
     */
    suspend fun sendFrom(
        buffer: RegisteredBuffer,
        body: MemorySlice,
        posted: () -> Unit,
    ) {
        room.acquire(1)
        val slot = stage()
        slot.body = buffer
        messages.awaitPosted(SEND, slot) { requests, id ->
            checkAlive()
            link.window().use()
            putHeader(slot, ChannelMessage.DATA, body.length().toInt())
            requests.send(id).from(slot.part(0, ChannelMessage.HEADER.toLong()))
            if (body.length() > 0) requests.from(body)
            posted()
        }
    }

    /**
     * Says that no more messages come, behind all that were sent, and suspends until the peer's device has all. A
     * second call waits for the first, and does nothing.
     */
    suspend fun finish() {
        finishing.withLock {
            if (isThere) return
            val window = link.window()
            try {
                // A first call that was cancelled may have said it.
                if (finished) link.keepAlive.ask("whether it has all messages") else sayEnd()
            } finally {
                if (finished) window.fail(finishedException())
            }
            link.large.awaitAll()
            isThere = true
        }
    }

    private suspend fun sayEnd() {
        link.checkAlive()
        link.window().awaitOpen()
        room.acquire(1)
        val slot = stage()
        messages.awaitPosted(SEND, slot) { requests, id ->
            checkAlive()
            putHeader(slot, ChannelMessage.END, 0)
            requests.send(id).from(slot.part(0, ChannelMessage.HEADER.toLong()))
            finished = true
        }
    }

    private fun checkAlive() {
        link.checkAlive()
        if (finished) throw finishedException()
    }

    private fun finishedException() =
        ChannelClosedException("the channel was finished by this side: it sends no more messages")

    /** A slot for a message for which the caller has room, which is given back if there is no slot. */
    private fun stage(): ChannelStage.Slot =
        try {
            link.memory.stage.take()
        } catch (e: RuntimeException) {
            room.release(1)
            throw e
        }

    private fun putHeader(
        slot: ChannelStage.Slot,
        kind: Int,
        length: Int,
    ) = ChannelMessage.putHeader(slot.memory, kind, debts.takeCredits(), length)

    /**
     * Sends what is due without a credit, as far as there is room; the completion of such a message comes here again.
     */
    fun sayWhatIsDue() {
        try {
            while (debts.isDue && link.isAlive) {
                synchronized(sayLock) {
                    if (!controls.credits.tryAcquire(1)) return
                    val due = debts.take()
                    if (due == null) {
                        controls.credits.release(1)
                    } else {
                        controls.postForNobody(SEND, null) { requests, id -> say(requests, id, due) }
                    }
                }
            }
        } catch (e: RuntimeException) {
            link.failBehind(e) // the polling thread comes here: what it throws would end all its queues
        }
    }

    private fun say(
        requests: SendRequests,
        id: Long,
        due: ChannelDebts.Due,
    ) {
        val slot = link.memory.control(id.toInt())
        val length = if (due.kind == ChannelMessage.DONE) Int.SIZE_BYTES else 0
        val memory = slot.memory()
        ChannelMessage.putHeader(memory, due.kind, due.credits, length)
        if (length > 0) ChannelMessage.putInt(memory, 0, due.id)
        requests.send(id).from(slot.region().slice(slot.offset(), (ChannelMessage.HEADER + length).toLong()))
    }

    /** Tells the peer that this side is closed. There is always room for it. Once. */
    fun sayClose() {
        debts.oweClose()
        controls.credits.release(1)
        sayWhatIsDue()
    }

    private companion object {
        val SEND = WorkCompletionOpcode.SEND.code()
    }
}
