package org.kverbs.coroutines

import org.kverbs.AccessFlag
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import org.kverbs.SendRequests
import org.kverbs.WorkCompletionOpcode
import org.kverbs.dsl.get
import java.lang.foreign.MemorySegment

/** What a channel sends: headers and short bodies stand in slots of their own, one a send request, until that has completed. */
internal class ChannelOutbox(
    private val link: ChannelLink,
    pd: ProtectionDomain,
) {
    private val slotSize = link.settings.slotSize
    private val messageSlots = SendSlots.count(link.settings.sendSlots)
    private val controlSlots = SendSlots.count(ChannelQueuePair.CONTROLS)
    private val messageStage = pd.memoryRegion(messageSlots.toLong() * slotSize, AccessFlag.LOCAL_WRITE)
    private val controlStage = pd.memoryRegion(controlSlots.toLong() * CONTROL_SIZE, AccessFlag.LOCAL_WRITE)
    private val debts = link.debts
    private val messages get() = link.pair.messages
    private val controls get() = link.pair.controls

    /** Held from the decision what to say until it is posted, so that nothing overtakes it. */
    private val sayLock = Any()

    @Volatile
    private var finished = false

    /** Room for messages in the send queue. */
    val room: Credits get() = messages.credits

    /** Sends a short message that costs a credit, and doesn't wait for its end. [body] fills the slot behind the header. */
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

    /** Posts a message for which the caller has room and a credit of the peer. The room is given back if it isn't posted. */
    fun post(
        kind: Int,
        length: Int,
        body: (MemorySegment) -> Unit,
    ): Unit =
        messages.postForNobody(SEND) { requests, id ->
            checkAlive()
            link.window().use()
            body(stage(id, kind, length))
            requests.send(id).from(messageStage[slotAt(id), (ChannelMessage.HEADER + length).toLong()])
        }

    /** Posts a message whose body stands in a buffer, and suspends until the buffer is free. The caller has a credit of the peer. */
    suspend fun sendFrom(
        buffer: RegisteredBuffer,
        body: MemorySlice,
        posted: () -> Unit,
    ): Unit =
        messages.await(SEND, buffer) { requests, id ->
            checkAlive()
            link.window().use()
            stage(id, ChannelMessage.DATA, body.length().toInt())
            requests.send(id).from(messageStage[slotAt(id), ChannelMessage.HEADER.toLong()])
            if (body.length() > 0) requests.from(body)
            posted()
        }

    /** Says that no more messages come, behind all that were sent, and suspends until the peer's device has it. */
    suspend fun finish() {
        val window = link.window()
        link.checkAlive()
        if (finished) return
        messages.await(SEND, null) { requests, id ->
            checkAlive()
            stage(id, ChannelMessage.END, 0)
            requests.send(id).from(messageStage[slotAt(id), ChannelMessage.HEADER.toLong()])
            finished = true
        }
        window.credits.fail(finishedException())
    }

    private fun checkAlive() {
        link.checkAlive()
        if (finished) throw finishedException()
    }

    private fun finishedException() = ChannelClosedException("the channel was finished by this side: it sends no more messages")

    private fun slotAt(id: Long) = Integer.remainderUnsigned(id.toInt(), messageSlots).toLong() * slotSize

    private fun stage(
        id: Long,
        kind: Int,
        length: Int,
    ): MemorySegment {
        val slot = messageStage.memory().asSlice(slotAt(id), slotSize.toLong())
        ChannelMessage.putHeader(slot, kind, debts.takeCredits(), length)
        return slot
    }

    /** Sends what is due without a credit, as far as there is room; the completion of such a message comes here again. */
    fun sayWhatIsDue() {
        try {
            while (debts.isDue && link.isAlive) {
                synchronized(sayLock) {
                    if (!controls.credits.tryAcquire(1)) return
                    val due = debts.take()
                    if (due == null) {
                        controls.credits.release(1)
                    } else {
                        controls.postForNobody(SEND) { requests, id -> say(requests, id, due) }
                    }
                }
            }
        } catch (e: RuntimeException) {
            link.fail(e) // the polling thread comes here: what it throws would end all its queues
        }
    }

    private fun say(
        requests: SendRequests,
        id: Long,
        due: ChannelDebts.Due,
    ) {
        val offset = Integer.remainderUnsigned(id.toInt(), controlSlots).toLong() * CONTROL_SIZE
        val slot = controlStage.memory().asSlice(offset, CONTROL_SIZE)
        val length = if (due.kind == ChannelMessage.DONE) Int.SIZE_BYTES else 0
        ChannelMessage.putHeader(slot, due.kind, due.credits, length)
        if (length > 0) ChannelMessage.putInt(slot, 0, due.id)
        requests.send(id).from(controlStage[offset, (ChannelMessage.HEADER + length).toLong()])
    }

    /** Tells the peer that this side is closed. There is always room for it. Once. */
    fun sayClose() {
        debts.oweClose()
        controls.credits.release(1)
        sayWhatIsDue()
    }

    /** The queue pair is gone. */
    fun free() {
        messageStage.close()
        controlStage.close()
    }

    private companion object {
        val SEND = WorkCompletionOpcode.SEND.code()
        const val CONTROL_SIZE = 64L
    }
}
