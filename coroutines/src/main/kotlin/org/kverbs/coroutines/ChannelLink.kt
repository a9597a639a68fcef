package org.kverbs.coroutines

import kotlinx.coroutines.CancellationException
import org.kverbs.AccessFlag
import org.kverbs.ProtectionDomain
import org.kverbs.QueuePairState
import org.kverbs.RdmaException
import org.kverbs.RemoteMemory
import org.kverbs.SendRequests
import org.kverbs.WorkCompletionOpcode
import org.kverbs.dsl.get
import org.kverbs.dsl.modify
import java.lang.foreign.MemorySegment
import java.util.concurrent.atomic.AtomicReference

/** What the parts of a [MessageChannel] share: its queue pair, its slots, the peer's window, and its end. [ChannelMessage] says how. */
internal class ChannelLink(
    dispatcher: CompletionDispatcher,
    pd: ProtectionDomain,
    val settings: MessageChannelSettings,
) {
    private val slotSize = settings.slotSize
    private val receiveCount = settings.receiveSlots + settings.largeMessages + ChannelMessage.CONTROL_SLOTS
    private val receiveMemory = pd.memoryRegion(receiveCount.toLong() * slotSize, AccessFlag.LOCAL_WRITE)
    private val messageSlots = SendSlots.count(settings.sendSlots)
    private val controlSlots = SendSlots.count(ChannelQueuePair.CONTROLS)
    private val messageStage = pd.memoryRegion(messageSlots.toLong() * slotSize, AccessFlag.LOCAL_WRITE)
    private val controlStage = pd.memoryRegion(controlSlots.toLong() * CONTROL_SIZE, AccessFlag.LOCAL_WRITE)
    val pair = ChannelQueuePair(dispatcher, pd, settings, receiveCount, ::sayWhatIsDue)
    val receives = ChannelReceives(dispatcher, pair.queuePair, pair.polled, receiveMemory, slotSize, pair.failures, this)
    val inbox = ChannelInbox()
    val debts = ChannelDebts(settings.receiveSlots)
    val large = LargeSends(settings.largeMessages)
    val remotes = RemoteNames()
    private val failure = AtomicReference<Throwable>()
    private val sayLock = Any()

    @Volatile
    private var window: ChannelWindow? = null

    @Volatile
    private var finished = false

    init {
        pair.queuePair.whenClosed {
            val closed = ChannelClosedException("${pair.queuePair.describe()} of the message channel was closed")
            fail(closed)
            inbox.discard(checkNotNull(failure.get()))
            pair.end(closed)
            receives.end()
            receiveMemory.close()
            messageStage.close()
            controlStage.close()
        }
    }

    /** The peer has said what it can take. */
    fun start(hello: ByteArray) {
        val parsed = ChannelHello.parse(hello)
        synchronized(sayLock) {
            check(window == null) { "the channel was started before; a channel has one peer" }
            window = ChannelWindow(parsed, slotSize)
        }
        failure.get()?.let { window().credits.fail(it) }
    }

    fun window(): ChannelWindow =
        checkNotNull(window) { "the channel isn't started: exchange the hellos, connect the queue pair, then call start(peerHello)" }

    fun checkAlive() {
        failure.get()?.let { throw it }
        if (finished) throw finishedException()
    }

    /** Runs a call of the user. What fails because the channel ends under it fails with the cause of that. */
    inline fun <T> reporting(call: () -> T): T =
        try {
            call()
        } catch (e: CancellationException) {
            throw e
        } catch (e: IllegalStateException) {
            throw failure.get() ?: e
        } catch (e: RdmaException) {
            throw failure.get() ?: e
        }

    private fun finishedException() = ChannelClosedException("the channel was finished by this side: it sends no more messages")

    /** Sends a short message that costs a credit, and doesn't wait for its end. [body] fills the slot behind the header. */
    suspend fun send(
        kind: Int,
        length: Int,
        body: (MemorySegment) -> Unit,
    ): Unit =
        window().credits.holding { spend ->
            pair.messages.credits.acquire(1)
            postMessage(kind, length) { slot ->
                body(slot)
                spend()
            }
        }

    /** Posts a message for which the caller has room in the send queue, and a credit of the peer. [body] fills the slot behind the header. */
    fun postMessage(
        kind: Int,
        length: Int,
        body: (MemorySegment) -> Unit,
    ): Unit =
        pair.messages.postForNobody(SEND) { requests, id ->
            val slot = stage(id, kind, length)
            body(slot)
            requests.send(id).from(messageStage[slotOffset(id), (ChannelMessage.HEADER + length).toLong()])
        }

    /** Posts a message whose body stands in a buffer, and suspends until the buffer is free. */
    suspend fun sendFrom(
        buffer: RegisteredBuffer,
        length: Int,
        posted: () -> Unit,
    ): Unit =
        pair.messages.await(SEND, buffer) { requests, id ->
            stage(id, ChannelMessage.DATA, length)
            requests.send(id).from(messageStage[slotOffset(id), ChannelMessage.HEADER.toLong()])
            if (length > 0) requests.from(buffer.slice(0, length.toLong()))
            posted()
        }

    /** Says that no more messages come, behind all that were sent, and suspends until the peer's device has it. */
    suspend fun finish() {
        if (finished) return
        checkAlive()
        window()
        pair.messages.await(SEND, null) { requests, id ->
            stageHeader(id, ChannelMessage.END, 0)
            finished = true
            requests.send(id).from(messageStage[slotOffset(id), ChannelMessage.HEADER.toLong()])
        }
        window().credits.fail(finishedException())
    }

    private fun slotOffset(id: Long) = Integer.remainderUnsigned(id.toInt(), messageSlots).toLong() * slotSize

    private fun stage(
        id: Long,
        kind: Int,
        length: Int,
    ): MemorySegment {
        checkAlive()
        window().use()
        return stageHeader(id, kind, length)
    }

    private fun stageHeader(
        id: Long,
        kind: Int,
        length: Int,
    ): MemorySegment {
        val slot = messageStage.memory().asSlice(slotOffset(id), slotSize.toLong())
        ChannelMessage.putHeader(slot, kind, debts.takeCredits(), length)
        return slot
    }

    /** Sends what is due without a credit, as far as there is room; the completion of such a message comes here again. */
    fun sayWhatIsDue() {
        try {
            while (debts.isDue && failure.get() == null) {
                synchronized(sayLock) {
                    if (!pair.controls.credits.tryAcquire(1)) return
                    val due = debts.take()
                    if (due == null) {
                        pair.controls.credits.release(1)
                    } else {
                        pair.controls.postForNobody(SEND) { requests, id -> say(requests, id, due) }
                    }
                }
            }
        } catch (e: RuntimeException) {
            fail(e) // the polling thread comes here: what it throws would end all its queues
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

    /** A message came. Polling thread; what it throws ends the channel. */
    fun arrived(
        slot: Int,
        message: MemorySegment,
        received: Long,
    ) {
        if (failure.get() != null) return
        val length = ChannelMessage.length(message, received)
        val kind = ChannelMessage.kind(message)
        val credits = ChannelMessage.credits(message)
        when (kind) {
            ChannelMessage.DATA -> {
                debts.arrived()
                inbox.add(ChannelArrival.Small(slot, length))
            }
            ChannelMessage.LARGE -> {
                debts.arrived()
                val arrival = announced(message, length)
                receives.post(slot)
                inbox.add(arrival)
            }
            ChannelMessage.PUBLISH, ChannelMessage.WITHDRAW -> {
                debts.arrived()
                remotes.arrived(kind, message.asSlice(ChannelMessage.HEADER.toLong(), length.toLong()))
                receives.post(slot)
                debts.oweCredit()
                sayWhatIsDue()
            }
            ChannelMessage.CREDIT, ChannelMessage.DONE, ChannelMessage.END, ChannelMessage.CLOSE -> {
                requireLength(length, if (kind == ChannelMessage.DONE) Int.SIZE_BYTES else 0)
                val id = if (kind == ChannelMessage.DONE) ChannelMessage.int(message, 0) else 0
                receives.post(slot)
                control(kind, id)
            }
            else -> throw ChannelProtocolException("the peer sent a message of the unknown kind $kind")
        }
        if (credits > 0) (window ?: throw ChannelProtocolException("the peer gave back $credits credits before any was used")).returned(credits)
    }

    private fun announced(
        message: MemorySegment,
        length: Int,
    ): ChannelArrival.Large {
        requireLength(length, ChannelMessage.LARGE_BODY)
        val bytes = ChannelMessage.long(message, 16)
        if (bytes !in 0..settings.maxMessage) {
            throw ChannelProtocolException(
                "the peer has a message of ${java.lang.Long.toUnsignedString(bytes)} bytes, above maxMessage(${settings.maxMessage}) of this side",
            )
        }
        return ChannelArrival.Large(
            ChannelMessage.int(message, 0),
            RemoteMemory(ChannelMessage.long(message, 8), bytes, ChannelMessage.int(message, 4)),
        )
    }

    private fun requireLength(
        length: Int,
        expected: Int,
    ) {
        if (length != expected) throw ChannelProtocolException("the peer sent a body of $length bytes where $expected were expected")
    }

    private fun control(
        kind: Int,
        id: Int,
    ) {
        when (kind) {
            ChannelMessage.DONE -> large.done(id)
            ChannelMessage.END -> {
                inbox.end(null)
                remotes.end(ChannelClosedException("the peer has sent its last message"))
            }
            ChannelMessage.CLOSE -> {
                inbox.end(null)
                fail(ChannelClosedException("the peer closed the message channel"))
            }
        }
    }

    /** Takes the message out of a slot with [take], and lets the device have the slot again. */
    fun <T> takeSmall(
        arrival: ChannelArrival.Small,
        take: (MemorySegment) -> T,
    ): T {
        val taken =
            take(receives.at(arrival.slot).asSlice(ChannelMessage.HEADER.toLong(), arrival.length))
        inbox.removeFirst()
        freed(arrival.slot)
        return taken
    }

    private fun freed(slot: Int) {
        if (failure.get() != null) return
        try {
            receives.post(slot)
        } catch (e: RuntimeException) {
            fail(e) // the message is taken nevertheless
        }
        debts.oweCredit()
        sayWhatIsDue()
    }

    /** The large message that came first has been read. */
    fun largeTaken(arrival: ChannelArrival.Large) {
        inbox.removeFirst()
        debts.oweDone(arrival.id)
        debts.oweCredit()
        sayWhatIsDue()
    }

    /** Tells the peer if it can, and ends all. */
    fun close() {
        if (window != null && failure.get() == null) {
            debts.oweClose()
            sayWhatIsDue()
        }
        fail(ChannelClosedException("the message channel was closed by this side"))
        pair.queuePair.close()
    }

    /** Ends the channel: every wait with [cause]. Messages that have come can still be taken. The first cause counts. Any thread. */
    fun fail(cause: Throwable) {
        if (!failure.compareAndSet(null, cause)) return
        // Before any memory is given up that the peer could still reach.
        try {
            pair.queuePair.modify { state(QueuePairState.ERR) }
        } catch (_: RuntimeException) {
            // closed, or the device is gone: the peer reaches nothing through it
        }
        inbox.end(cause)
        window?.credits?.fail(cause)
        large.fail(cause)
        remotes.end(cause)
    }

    private companion object {
        val SEND = WorkCompletionOpcode.SEND.code()
        const val CONTROL_SIZE = 64L
    }
}
