package org.kverbs.management.rmpp

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.cancel
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.RMPPFlag
import org.kverbs.management.structures.RMPPStatus
import org.kverbs.management.structures.RMPPType
import org.kverbs.management.transport.MAD_SIZE
import org.kverbs.management.transport.MadPort
import org.kverbs.management.transport.MadReceiver
import org.kverbs.management.transport.MadTransport
import org.kverbs.management.transport.MadTransportException
import org.kverbs.management.transport.ServedClass
import org.kverbs.management.transport.guarded
import kotlin.coroutines.CoroutineContext
import kotlin.time.Duration

private const val LOW_HALF = 0xffffffffL

/**
 * Lets a transport of single datagrams carry long messages, by the reliable multi-packet transaction protocol (RMPP).
 * A long message is cut into segments; the peer acknowledges them, and puts them together again.
 *
 * A `MadTransactor` makes one for a transport that does not carry long messages itself. All else passes unchanged.
 *
 * A peer can lose, double and reorder packets, and can lie about numbers and lengths. [settings] bounds what it costs:
 * memory is held for what arrived, never for what was announced.
 *
 * @param transport carries the datagrams; it is closed with this one
 * @property settings times and bounds
 * @param context where the coroutines run that send segments and watch the clock
 */
public class RmppTransport(
    private val transport: MadTransport,
    public val settings: RmppSettings = RmppSettings(),
    context: CoroutineContext = Dispatchers.Default,
) : MadTransport {
    private val scope = CoroutineScope(context + SupervisorJob(context[Job]))
    private val lock = Any()
    private val incoming = IncomingTransfers(settings)
    private val outgoing = HashMap<TransferKey, OutgoingTransfer>()
    private var isTicking = false

    @Volatile
    private var isClosed = false

    @Volatile
    private var receiver: MadReceiver? = null

    override val carriesLongMessages: Boolean get() = true

    /** How many long messages are on their way, in both directions. */
    public val underWay: Int get() = synchronized(lock) { outgoing.size + incoming.size }

    override fun port(): MadPort = transport.port()

    override fun receive(receiver: MadReceiver) {
        this.receiver = receiver
        transport.receive(Receiver(receiver))
    }

    override fun serve(service: ServedClass): AutoCloseable = transport.serve(service)

    override fun send(
        mad: ByteArray,
        path: MadPath,
        patience: Duration,
    ): Unit = if (Rmpp.isActive(mad)) send(mad, path) else transport.send(mad, path, patience)

    override fun send(
        mad: ByteArray,
        path: MadPath,
    ) {
        if (!Rmpp.isActive(mad)) {
            forgetRequest(mad, path)
            return transport.send(mad, path)
        }
        check(!isClosed) { "the transport is closed" }
        require(path is LidPath) { "$path takes no long message: give the LID of the port" }
        val key = TransferKey.ofData(mad, path, isSent = true)
        val message = mad.copyOf()
        val transfer =
            synchronized(lock) {
                // The same message again: it is on its way.
                if (key in outgoing) return
                if (!hasRoom(key, message)) {
                    null
                } else {
                    OutgoingTransfer(message, path, windowFor(key), settings) { put(it, path) }
                        .also { outgoing[key] = it }
                }
            }
        if (transfer == null) {
            failed(message, isSent = true, RMPPStatus.RESOURCES_EXHAUSTED)
        } else {
            scope.launch { carry(key, transfer) }.invokeOnCompletion { removeOutgoing(key, transfer) }
        }
    }

    /** Answers to peers that take their time leave room for this program's own requests. Called under the lock. */
    private fun hasRoom(
        key: TransferKey,
        message: ByteArray,
    ): Boolean {
        val isAnswer = key.method and Rmpp.RESPONSE != 0
        val alike = outgoing.filterKeys { (it.method and Rmpp.RESPONSE != 0) == isAnswer }.values
        return alike.size < settings.maxTransfers &&
            alike.sumOf { it.message.size.toLong() } + message.size <= settings.maxReceived
    }

    /** Tells the receiver that a message did not arrive. */
    private fun failed(
        mad: ByteArray,
        isSent: Boolean,
        status: RMPPStatus,
    ) {
        if (isTold(mad, isSent)) guarded { receiver?.failed(mad, status) }
    }

    private fun isTold(
        mad: ByteArray,
        isSent: Boolean,
    ) = receiver !is OwnTransfersAlone || (Rmpp.method(mad) and Rmpp.RESPONSE == 0) == isSent

    /** The window that the peer granted for the answer to its long request. */
    private fun windowFor(key: TransferKey): Long = incoming.answered(key.copy(method = key.method xor Rmpp.RESPONSE))

    /** A short answer, too, ends a long request. */
    private fun forgetRequest(
        mad: ByteArray,
        path: MadPath,
    ) {
        if (Rmpp.dataAt(Rmpp.mgmtClass(mad)) == 0 || Rmpp.method(mad) and Rmpp.RESPONSE == 0) return
        synchronized(lock) { windowFor(TransferKey.ofData(mad, path, isSent = true)) }
    }

    private suspend fun carry(
        key: TransferKey,
        transfer: OutgoingTransfer,
    ) {
        val status =
            withTimeoutOrNull(settings.total) { transfer.run() }
                ?: RMPPStatus.TOTAL_TIME_TOO_LONG.also { abort(transfer, it) }
        removeOutgoing(key, transfer)
        when {
            status != RMPPStatus.NORMAL -> {
                failed(transfer.message, isSent = true, status)
            }

            // The direction turns: this side grants the window for the answer.
            key.method == Method.GET_MULTI.value -> {
                val window = settings.window.toLong()
                put(Rmpp.control(transfer.message, RMPPType.ACK, window = window, isTurned = false), transfer.path)
            }
        }
    }

    private fun removeOutgoing(
        key: TransferKey,
        transfer: OutgoingTransfer,
    ) = synchronized(lock) { outgoing.remove(key, transfer) }

    private fun abort(
        transfer: OutgoingTransfer,
        status: RMPPStatus,
    ) = put(Rmpp.control(transfer.message, RMPPType.ABORT, status, isTurned = false), transfer.path)

    /** Sends one packet. One that can't be sent is as good as lost: the timers of the transfers see to it. */
    private fun put(
        mad: ByteArray,
        path: MadPath,
    ) {
        // What a transport of another kind throws must not end the coroutine that watches the clock.
        guarded {
            try {
                if (!isClosed) transport.send(mad, path)
            } catch (_: MadTransportException) {
                // As lost.
            } catch (_: IllegalStateException) {
                // It was closed meanwhile.
            }
        }
    }

    /** Ends the transfers of a request that the program has given up. */
    internal fun forget(
        request: ByteArray,
        path: MadPath,
    ) {
        val sending =
            synchronized(lock) {
                incoming.forgetAnswers(Rmpp.transaction(request) and LOW_HALF)
                if (Rmpp.isActive(request)) outgoing[TransferKey.ofData(request, path, isSent = true)] else null
            }
        if (sending != null && sending.end(RMPPStatus.UNSPECIFIED)) abort(sending, RMPPStatus.UNSPECIFIED)
    }

    /** Ends all transfers, and closes the transport below. */
    override fun close() {
        isClosed = true
        scope.cancel()
        transport.close()
        synchronized(lock) {
            incoming.clear()
            outgoing.clear()
        }
    }

    /** Watches the clock while there is anything to watch. Called under the lock. */
    private fun tickIfNeeded() {
        if (isTicking) return
        isTicking = true
        scope.launch {
            do {
                delay(settings.timeout)
                val over = synchronized(lock) { incoming.tick() }
                over.forEach { refuse(it.first, it.back, RMPPStatus.TOTAL_TIME_TOO_LONG) }
                val isOver = synchronized(lock) { incoming.isEmpty.also { if (it) isTicking = false } }
            } while (!isOver)
        }
    }

    private fun refuse(
        first: ByteArray,
        back: MadPath,
        status: RMPPStatus,
    ) {
        val type = if (status == RMPPStatus.RESOURCES_EXHAUSTED) RMPPType.STOP else RMPPType.ABORT
        put(Rmpp.control(first, type, status), back)
        failed(first, isSent = false, status)
    }

    private inner class Receiver(
        private val receiver: MadReceiver,
    ) : MadReceiver by receiver {
        override fun received(
            mad: ByteArray,
            back: MadPath?,
        ) {
            if (mad.size != MAD_SIZE || !Rmpp.isActive(mad)) return receiver.received(mad, back)
            // Without a way back no acknowledgement can be sent.
            if (back !is LidPath) return receiver.ignored(mad)
            when (Rmpp.type(mad)) {
                RMPPType.DATA -> data(mad, back)
                RMPPType.ACK -> acknowledged(mad, back)
                RMPPType.STOP, RMPPType.ABORT -> ended(mad, back)
                else -> put(Rmpp.control(mad, RMPPType.ABORT, RMPPStatus.BAD_RMPP_TYPE), back)
            }
        }

        private fun data(
            mad: ByteArray,
            back: LidPath,
        ) {
            val key = TransferKey.ofData(mad, back, isSent = false)
            val known = synchronized(lock) { incoming.findComplete(key) }
            when {
                Rmpp.version(mad) != Rmpp.VERSION -> {
                    put(Rmpp.control(mad, RMPPType.ABORT, RMPPStatus.UNSUPPORTED_VERSION), back)
                }

                known != null -> {
                    acknowledge(mad, back, known.segment, known.windowLast)
                }

                receiver.isWanted(mad, back) -> {
                    take(key, mad, back)
                }

                else -> {
                    synchronized(lock) { incoming.remove(key) }
                    receiver.ignored(mad)
                    put(Rmpp.control(mad, RMPPType.ABORT, RMPPStatus.UNSPECIFIED), back)
                }
            }
        }

        private fun take(
            key: TransferKey,
            mad: ByteArray,
            back: LidPath,
        ) {
            val isBegun = synchronized(lock) { incoming.find(key) != null }
            if (!isBegun && isMiddle(mad)) return receiver.ignored(mad)
            var isNews = false
            var transfer: IncomingTransfer? = null
            val verdict =
                synchronized(lock) {
                    if (isClosed) return
                    transfer = incoming.find(key) ?: incoming.begin(key, mad, back)
                    tickIfNeeded()
                    transfer?.let { on ->
                        val before = on.segment
                        incoming.take(key, on, mad).also {
                            isNews = on.segment > before
                            if (it is IncomingTransfer.Verdict.Refuse) {
                                incoming.remove(key)
                            } else if (on.isComplete) {
                                incoming.complete(key, on)
                            }
                        }
                    } ?: IncomingTransfer.Verdict.Refuse(RMPPStatus.RESOURCES_EXHAUSTED)
                }
            val on = transfer
            if (verdict is IncomingTransfer.Verdict.Refuse) return refuse(on?.first ?: mad, back, verdict.status)
            if (on == null) return
            if (verdict == IncomingTransfer.Verdict.Acknowledge) acknowledge(mad, back, on.segment, on.windowLast)
            if (isNews && isTold(mad, isSent = false)) receiver.progressed(mad)
            if (isNews && on.isComplete) receiver.received(on.message(), back)
        }

        /** Whether a packet is from the middle of a message: without its beginning it is of no use. */
        private fun isMiddle(mad: ByteArray) = Rmpp.segment(mad) != 1L && RMPPFlag.FIRST !in Rmpp.flags(mad)

        private fun acknowledge(
            mad: ByteArray,
            back: MadPath,
            segment: Long,
            window: Long,
        ) = put(Rmpp.control(mad, RMPPType.ACK, segment = segment, window = window), back)

        private fun acknowledged(
            mad: ByteArray,
            back: LidPath,
        ) {
            val transfer = synchronized(lock) { outgoing[TransferKey.ofAnswered(mad, back)] }
            if (transfer != null) {
                val isNews = transfer.acknowledged(mad)
                if (isNews && isTold(transfer.message, isSent = true)) receiver.progressed(transfer.message)
            } else if (Rmpp.segment(mad) == 0L) {
                val key = TransferKey.ofData(mad, back, isSent = false)
                synchronized(lock) { incoming.findComplete(key)?.answerWindow = Rmpp.lengthOrWindow(mad) }
            } else {
                receiver.ignored(mad)
            }
        }

        private fun ended(
            mad: ByteArray,
            back: LidPath,
        ) {
            val told = Rmpp.status(mad)
            val status = if (told == RMPPStatus.NORMAL) RMPPStatus.UNSPECIFIED else told
            val (sending, receiving) =
                synchronized(lock) {
                    val sending = outgoing[TransferKey.ofAnswered(mad, back)]
                    sending to incoming.remove(TransferKey.ofData(mad, back, isSent = false))
                }
            sending?.end(status)
            if (receiving != null) failed(receiving.first, isSent = false, status)
            if (sending == null && receiving == null) receiver.ignored(mad)
        }

        override fun undelivered(mad: ByteArray) {
            // A lost packet of a transfer is sent again when its time is over.
            if (!Rmpp.isActive(mad)) receiver.undelivered(mad)
        }
    }
}
