package org.kverbs.management.transaction

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.sync.Semaphore
import kotlinx.coroutines.sync.withPermit
import org.kverbs.management.path.MadPath
import org.kverbs.management.rmpp.OwnTransfersAlone
import org.kverbs.management.rmpp.Rmpp
import org.kverbs.management.rmpp.RmppSettings
import org.kverbs.management.rmpp.RmppTransport
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.structures.MADStatusFlag
import org.kverbs.management.structures.RMPPStatus
import org.kverbs.management.transport.MAD_SIZE
import org.kverbs.management.transport.MadReceiver
import org.kverbs.management.transport.MadTransport
import org.kverbs.management.transport.MadTransportException
import org.kverbs.management.transport.ServedClass
import org.kverbs.management.transport.guarded
import java.util.concurrent.atomic.AtomicLongArray
import kotlin.coroutines.CoroutineContext
import kotlin.time.Duration

private const val STATUS_COMMON = 0x1f

/**
 * Sends requests over a [MadTransport], repeats those that are lost, and gives each answer to the coroutine that asked.
 *
 * An answer belongs to a request if its class, its attribute, the low 32 bits of its transaction id and its method fit,
 * and if it comes from the LID or the GID that was asked.
 * Everything else that arrives is counted, and shown to the listener, but never taken for an answer.
 *
 * Threads: any number of coroutines and threads can call [transact] at once.
 *
 * Requests and answers can be longer than a datagram, in the classes that allow it.
 *
 * @param transport the port; the transactor is its receiver, and closes it
 * @property maxOutstanding how many requests wait for an answer at once. A further one suspends until one ends.
 * @param rmpp times and bounds of long messages, if the transport does not carry them itself
 * @param context where long messages are sent and requests of other ports are answered
 * @param listener sees each event
 */
public class MadTransactor(
    transport: MadTransport,
    public val maxOutstanding: Int = DEFAULT_OUTSTANDING,
    rmpp: RmppSettings = RmppSettings(),
    internal val context: CoroutineContext = Dispatchers.Default,
    private val listener: MadListener? = null,
) : AutoCloseable {
    private val rmpp = if (transport.carriesLongMessages) null else RmppTransport(transport, rmpp, context)
    private val transport = this.rmpp ?: transport
    private val longest = rmpp.total
    private val table = TransactionTable()
    private val permits: Semaphore
    private val counts = AtomicLongArray(MadEventKind.entries.size)

    @Volatile
    private var isClosed = false

    init {
        if (maxOutstanding <= 0) this.transport.close()
        require(maxOutstanding > 0) { "at least one request must be outstanding, not $maxOutstanding" }
        permits = Semaphore(maxOutstanding)
        this.transport.receive(Receiver())
    }

    /** The handler that answers the requests of other ports. */
    @Volatile
    internal var sink: RequestSink? = null

    /** What happened so far. */
    public val counters: MadCounters
        get() = MadCounters(MadEventKind.entries.associateWith { counts[it.ordinal] }, table.size)

    /**
     * Sends a request, and returns its answer.
     *
     * An attempt ends without an answer after [timeout], or at once if the fabric says that it lost the request. Then
     * the same request is sent again, under the same transaction id. If the answer says that the port is busy, the
     * attempt waits out its time before the next one.
     *
     * Cancellation: the coroutine returns at once, and the transaction is forgotten. Its answer counts as late. Whether
     * the port carried out the request is not known. `withTimeout` around the call sets a deadline for all attempts.
     *
     * A long message that gets further gives its attempt the whole time again.
     *
     * @param request all 256 bytes, or a long message, without a transaction id; they are copied
     * @param path where the request goes
     * @param timeout how long one attempt waits
     * @param retries how often the request is sent again
     * @return the bytes of the answer, whose status is zero
     * @throws MadTimeoutException if no answer came
     * @throws MadStatusException if the answer has a status that all classes share, "busy" after all retries among them
     * @throws MadClassException if the answer has a status of its class
     * @throws MadTransferException if a long message was given up, in all attempts
     * @throws MadClosedException if the transactor is closed meanwhile
     * @throws MadTransportException if the transport can send nothing at all
     */
    public suspend fun transact(
        request: ByteArray,
        path: MadPath,
        timeout: Duration,
        retries: Int,
    ): ByteArray {
        requireMessage(request)
        require(timeout.isPositive()) { "the timeout $timeout leaves no time for an answer" }
        require(retries >= 0) { "retries are $retries; give 0 to send a request once" }
        check(!isClosed) { "the fabric is closed" }
        return permits.withPermit {
            val transaction = table.open(request, path)
            try {
                // Only now: a close that came before has not seen the entry.
                if (isClosed) throw MadClosedException(transaction.request, path)
                run(transaction, path, timeout, retries + 1)
            } catch (e: CancellationException) {
                report(MadEventKind.CANCELLED, transaction.request)
                throw e
            } finally {
                table.close(transaction)
                rmpp?.forget(transaction.request, path)
            }
        }
    }

    private suspend fun run(
        transaction: Transaction,
        path: MadPath,
        timeout: Duration,
        attempts: Int,
    ): ByteArray {
        val request = transaction.request
        for (attempt in 1..attempts) {
            report(if (attempt == 1) MadEventKind.SENT else MadEventKind.RETRIED, request)
            transport.send(request, path, timeout)
            transaction.await(timeout, longest)
            if (transaction.isEnded) {
                return checked(request, transaction.reply() ?: throw MadClosedException(request, path), path)
            }
        }
        report(MadEventKind.TIMED_OUT, request)
        transaction.failure?.let { throw MadTransferException(request, path, it) }
        val busy = transaction.busy ?: throw MadTimeoutException(request, path, attempts, timeout, transaction.strays)
        throw MadStatusException(request, busy, path, MadFields.status(busy))
    }

    private fun checked(
        request: ByteArray,
        reply: ByteArray,
        path: MadPath,
    ): ByteArray {
        val status = MadFields.status(reply)
        if (status and STATUS_COMMON != 0) throw MadStatusException(request, reply, path, status)
        if (status != 0) throw MadClassException(request, reply, path, status)
        return reply
    }

    private fun report(
        kind: MadEventKind,
        mad: ByteArray,
    ) {
        counts.incrementAndGet(kind.ordinal)
        if (listener != null) guarded { listener.on(MadEvent(kind, mad)) }
    }

    /** Makes requests of other ports arrive, until the result is closed. */
    internal fun serve(service: ServedClass): AutoCloseable = transport.serve(service)

    /** Sends a message that has no answer, or that is one. */
    internal fun post(
        mad: ByteArray,
        path: MadPath,
    ) {
        requireMessage(mad)
        report(if (MadFields.isResponse(mad)) MadEventKind.ANSWERED else MadEventKind.SENT, mad)
        transport.send(mad, path)
    }

    private fun requireMessage(mad: ByteArray) {
        require(mad.size == MAD_SIZE || Rmpp.isActive(mad)) {
            "a management datagram has $MAD_SIZE bytes, not ${mad.size}; a long message has the RMPP flag ACTIVE"
        }
    }

    /** Ends all waits with a [MadClosedException], and closes the transport. A second call does nothing. */
    override fun close() {
        isClosed = true
        sink?.close()
        table.all().forEach { it.end(null) }
        transport.close()
    }

    private inner class Receiver :
        MadReceiver,
        OwnTransfersAlone {
        override fun received(
            mad: ByteArray,
            back: MadPath?,
        ) {
            if (mad.size != MAD_SIZE && !Rmpp.isActive(mad)) {
                if (mad.size >= MADHeader.byteSize) table.find(MadFields.transaction(mad))?.let { it.strays++ }
                return report(MadEventKind.MALFORMED, mad)
            }
            val transaction = table.find(MadFields.transaction(mad))
            when {
                !MadFields.isResponse(mad) -> request(mad, back)
                transaction == null || !transaction.isAnsweredBy(mad, back) -> stray(mad, transaction)
                else -> answer(transaction, mad)
            }
        }

        private fun request(
            mad: ByteArray,
            back: MadPath?,
        ) {
            val served = sink?.takeIf { back != null && it.isServed(mad) }
            report(if (served == null) MadEventKind.UNEXPECTED else MadEventKind.REQUESTED, mad)
            if (back != null) served?.take(mad, back)
        }

        private fun stray(
            mad: ByteArray,
            transaction: Transaction?,
        ) {
            val isLate = transaction == null && table.wasGiven(MadFields.transaction(mad))
            transaction?.let { it.strays++ }
            report(if (isLate) MadEventKind.LATE else MadEventKind.UNEXPECTED, mad)
        }

        override fun isWanted(
            mad: ByteArray,
            back: MadPath,
        ): Boolean =
            if (MadFields.isResponse(mad)) {
                table.find(MadFields.transaction(mad))?.let { !it.isEnded && it.isAnsweredBy(mad, back) } ?: false
            } else {
                sink?.isServed(mad) ?: false
            }

        override fun progressed(mad: ByteArray) {
            table.find(MadFields.transaction(mad))?.takeIf { it.isPart(mad) }?.progress()
        }

        override fun failed(
            mad: ByteArray,
            status: RMPPStatus,
        ) {
            val transaction = table.find(MadFields.transaction(mad))?.takeIf { it.isPart(mad) } ?: return
            report(MadEventKind.BROKEN, mad)
            transaction.failure = status
            // A peer without memory gets the attempt's time to find some.
            if (status != RMPPStatus.RESOURCES_EXHAUSTED) transaction.lose()
        }

        override fun ignored(mad: ByteArray) = stray(mad, table.find(MadFields.transaction(mad)))

        private fun answer(
            transaction: Transaction,
            mad: ByteArray,
        ) {
            when {
                MadFields.status(mad) and MADStatusFlag.BUSY.value != 0 -> {
                    transaction.busy = mad
                    report(MadEventKind.BUSY, mad)
                }

                transaction.end(mad) -> {
                    report(MadEventKind.COMPLETED, mad)
                }

                else -> {
                    report(MadEventKind.LATE, mad)
                }
            }
        }

        override fun undelivered(mad: ByteArray) {
            report(if (mad.size == MAD_SIZE) MadEventKind.UNDELIVERED else MadEventKind.MALFORMED, mad)
            if (mad.size == MAD_SIZE) table.find(MadFields.transaction(mad))?.lose()
        }
    }

    /** The default of a transactor. */
    public companion object {
        /** The number of outstanding requests without another choice. */
        public const val DEFAULT_OUTSTANDING: Int = 32
    }
}
