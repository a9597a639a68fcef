package org.kverbs.management.rmpp

import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.RMPPFlag
import org.kverbs.management.structures.RMPPStatus
import org.kverbs.management.structures.RMPPType
import org.kverbs.management.transport.MAD_SIZE
import kotlin.time.Duration
import kotlin.time.Duration.Companion.nanoseconds
import kotlin.time.Duration.Companion.seconds

private const val NO_GAP = -1L
private const val TIMER_UNIT_NANOS = 4096L
private val longestResponse = 10.seconds

/**
 * One long message on its way out. [run] sends its segments, [acknowledged] and [end] hear of the peer.
 *
 * The peer's window says how far the sender goes. At first it is one segment, or what the peer granted before.
 *
 * @param send sends one packet
 */
internal class OutgoingTransfer(
    val message: ByteArray,
    val path: MadPath,
    firstWindow: Long,
    private val settings: RmppSettings,
    private val send: (ByteArray) -> Unit,
) {
    private val dataAt = Rmpp.dataAt(Rmpp.mgmtClass(message))
    private val perSegment = MAD_SIZE - dataAt
    private val segments = maxOf(1L, (message.size - dataAt + perSegment - 1L) / perSegment)
    private val news = Channel<Unit>(Channel.CONFLATED)
    private val lock = Any()

    private var acknowledged = 0L
    private var windowLast = firstWindow.coerceIn(1, segments)
    private var sent = 0L
    private var mostSent = 0L
    private var gapAt = NO_GAP
    private var isGap = false
    private var patience = settings.timeout
    private var ending: RMPPStatus? = null

    /** Whether the peer must be told of the end. */
    private var isOwnFault = false

    /** Sends until the peer has all, refuses, or is silent. Returns the status to which it came. */
    suspend fun run(): RMPPStatus {
        var silent = 0
        var furthest = 0L
        while (true) {
            currentCoroutineContext().ensureActive()
            val step = synchronized(lock) { step() }
            if (step.progress > furthest) {
                furthest = step.progress
                silent = 0
            }
            when {
                step.status != null -> return ended(step.status)
                step.segment > 0 -> send(segment(step.segment))
                withTimeoutOrNull(step.patience) { news.receive() } != null -> Unit
                silent++ < settings.retries -> synchronized(lock) { again() }
                else -> return tooManyRetries()
            }
        }
    }

    private class Step(
        val status: RMPPStatus?,
        val segment: Long,
        val patience: Duration,
        val progress: Long,
    )

    private fun again() {
        sent = acknowledged
        gapAt = NO_GAP
    }

    private fun step(): Step {
        var segment = 0L
        if (isGap) {
            isGap = false
            segment = acknowledged + 1
        } else if (sent < windowLast) {
            segment = ++sent
            mostSent = maxOf(mostSent, sent)
        }
        return Step(ending, segment, patience, acknowledged + windowLast)
    }

    private fun tooManyRetries(): RMPPStatus {
        synchronized(lock) { isOwnFault = true }
        return ended(RMPPStatus.TOO_MANY_RETRIES)
    }

    private fun ended(status: RMPPStatus): RMPPStatus {
        val isTold = synchronized(lock) { isOwnFault }
        if (isTold) send(Rmpp.control(message, RMPPType.ABORT, status, isTurned = false))
        return status
    }

    /**
     * Takes an acknowledgement. Only what brings the transfer on wakes [run]: a peer that repeats itself gains no time.
     *
     * @return whether the peer has more than before
     */
    fun acknowledged(mad: ByteArray): Boolean {
        val segment = Rmpp.segment(mad)
        val window = Rmpp.lengthOrWindow(mad)
        return synchronized(lock) {
            when {
                ending != null || segment < acknowledged -> false
                window < segment -> refuse(RMPPStatus.NEW_WINDOW_LAST_TOO_SMALL)
                segment > mostSent -> refuse(RMPPStatus.SEGMENT_NUMBER_TOO_BIG)
                else -> advance(segment, window, Rmpp.responseTime(mad))
            }
        }
    }

    private fun refuse(status: RMPPStatus): Boolean {
        ending = status
        isOwnFault = true
        news.trySend(Unit)
        return false
    }

    private fun advance(
        segment: Long,
        window: Long,
        responseTime: Int,
    ): Boolean {
        val hasMore = segment > acknowledged
        val isWider = minOf(window, segments) > windowLast
        // The same acknowledgement again: the peer has something behind a segment that it misses.
        isGap = !hasMore && !isWider && sent > segment && segment > 0 && gapAt != segment
        if (isGap) gapAt = segment
        acknowledged = segment
        sent = maxOf(sent, segment)
        windowLast = maxOf(windowLast, minOf(window, segments))
        if (responseTime != Rmpp.NO_RESPONSE_TIME) {
            val told = (TIMER_UNIT_NANOS shl responseTime).nanoseconds
            patience = maxOf(settings.timeout, minOf(told, longestResponse))
        }
        if (acknowledged == segments) ending = RMPPStatus.NORMAL
        if (hasMore || isWider || isGap) news.trySend(Unit)
        return hasMore
    }

    /** Ends the transfer. Returns whether it was under way: the first to end it says how. */
    fun end(status: RMPPStatus): Boolean {
        val isFirst = synchronized(lock) { (ending == null).also { if (it) ending = status } }
        news.trySend(Unit)
        return isFirst
    }

    private fun segment(number: Long): ByteArray {
        val from = dataAt + ((number - 1) * perSegment).toInt()
        val to = minOf(message.size, from + perSegment)
        val mad = message.copyOf(dataAt).copyOf(MAD_SIZE)
        message.copyInto(mad, dataAt, from, to)
        val header = dataAt - Rmpp.PAYLOAD_AT
        var flags = RMPPFlag.ACTIVE
        var length = 0L
        if (number == segments) {
            flags += RMPPFlag.LAST
            length = header + (to - from).toLong()
        }
        if (number == 1L) {
            flags += RMPPFlag.FIRST
            length = header * segments + (message.size - dataAt)
        }
        Rmpp.write(mad, RMPPType.DATA, flags, RMPPStatus.NORMAL, number, length)
        return mad
    }
}
