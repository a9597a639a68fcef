package org.kverbs.coroutines

import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import org.kverbs.MemorySlice
import org.kverbs.RdmaException
import org.kverbs.SendRequests
import org.kverbs.WorkCompletionOpcode
import java.lang.foreign.MemorySegment

/**
 * Sends the messages of a channel. Each send request has a slot of its own for its header and short body, until the
 * request has completed.
 */
internal class ChannelOutbox(
    private val link: ChannelLink,
) {
    private val debts = link.debts
    private val messages get() = link.pair.messages
    private val controls get() = link.pair.controls

    /** Held from the choice of the next message until it is posted, so that messages keep their order. */
    private val sayLock = Any()

    /** True if END was posted, or is about to be. */
    @Volatile
    var finished = false
        private set

    /** Number of DONEs that were posted. */
    @Volatile
    private var answers = 0

    /** Number of DONEs that the peer's device has for certain. */
    @Volatile
    private var answersThere = 0

    /** Allows one finish at a time; the next waits for it. */
    private val finishing = Mutex()
    private var isThere = false

    /** Free entries for messages in the send queue. */
    val room: Credits get() = messages.credits

    /**
     * Sends a short message that costs a credit, and does not wait for its completion. [body] fills the slot behind the
     * header.
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
     * Posts a message for which the caller holds a queue entry and a credit of the peer. Gives the entry back if the
     * message is not posted.
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
     * Posts a message whose body is in a buffer, and suspends until the buffer is free. The caller holds a credit of
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
     * Sends END after all messages, and suspends until the peer's device has everything. A second call only waits for
     * the first.
     */
    suspend fun finish() {
        finishing.withLock {
            if (isThere) return
            try {
                sayEndAndWait()
            } catch (e: RdmaException) {
                // The peer can close before this side has seen that its device has END.
                if (!link.hadPeerAll(e)) throw e
            }
            isThere = true
        }
    }

    private suspend fun sayEndAndWait() {
        val window = link.window()
        try {
            // A first call that was cancelled has sent END.
            if (finished) link.keepAlive.ask("whether it has all messages") else sayEnd()
        } finally {
            if (finished) window.fail(finishedException())
        }
        link.large.awaitAll()
    }

    private suspend fun sayEnd() {
        link.checkAlive()
        link.window().awaitOpen()
        room.acquire(1)
        val slot = stage()
        val before = answers
        messages.awaitPosted(SEND, slot) { requests, id ->
            checkAlive()
            putHeader(slot, ChannelMessage.END, 0)
            requests.send(id).from(slot.part(0, ChannelMessage.HEADER.toLong()))
            finished = true
        }
        answersThere = before
    }

    /**
     * Suspends until the peer's device has each DONE that was posted: a close takes back what the network has lost, and
     * the peer's finish would fail.
     */
    suspend fun awaitAnswers() {
        val before = answers
        if (before == answersThere || !link.isAlive) return
        link.keepAlive.ask("whether it has the answers to its large messages")
        answersThere = before
    }

    private fun checkAlive() {
        link.checkAlive()
        if (finished) throw finishedException()
    }

    private fun finishedException() =
        ChannelClosedException("the channel was finished by this side: it sends no more messages")

    /** Takes a slot for a message for which the caller holds a queue entry; gives the entry back if that fails. */
    private fun stage(): ChannelStage.Slot =
        try {
            link.memory.stage.take()
        } catch (e: Throwable) {
            room.release(1)
            throw e
        }

    private fun putHeader(
        slot: ChannelStage.Slot,
        kind: Int,
        length: Int,
    ) = ChannelMessage.putHeader(slot.memory, kind, debts.takeCredits(), length)

    /**
     * Sends the messages that are due and need no credit, while the send queue has room. The completion of such a
     * message calls this again.
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
        } catch (e: Throwable) {
            // After an error, too: what was due is lost, and the peer would wait for it. On the polling thread an
            // exception here would end all channels of the completion queue.
            link.failBehind(e)
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
        if (due.kind == ChannelMessage.DONE) answers++ // under the send queue's lock
        requests.send(id).from(slot.region().slice(slot.offset(), (ChannelMessage.HEADER + length).toLong()))
    }

    /** Tells the peer that this side is closed. The send queue keeps an entry for it. Call it once. */
    fun sayClose() {
        debts.oweClose(if (link.inbox.hasAll) ChannelMessage.LEAVE else ChannelMessage.CLOSE)
        controls.credits.release(1)
        sayWhatIsDue()
    }

    private companion object {
        val SEND = WorkCompletionOpcode.SEND.code()
    }
}
