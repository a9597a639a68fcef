package org.kverbs.management.rmpp

import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.RMPPFlag
import org.kverbs.management.structures.RMPPStatus

/**
 * One long message on its way in: puts its segments into order, and says when an acknowledgement is due. One thread at
 * a time uses it.
 *
 * It keeps what arrived and no more: a length that the peer announces reserves nothing.
 */
internal class IncomingTransfer(
    val first: ByteArray,
    val back: MadPath,
    private val settings: RmppSettings,
) {
    private val dataAt = Rmpp.dataAt(Rmpp.mgmtClass(first))
    private val header = dataAt - Rmpp.PAYLOAD_AT
    private val perSegment = first.size - dataAt
    private var message = first.copyOf(dataAt)
    private var length = dataAt
    private val early = HashMap<Long, ByteArray>()
    private var announced = 0L
    private var granted = settings.window.toLong()

    /** The last segment of those that have arrived without a gap. */
    var segment = 0L
        private set

    /** The window's last segment. */
    val windowLast: Long get() = granted

    /** For how many ticks it has been under way. */
    var age = 0L
        private set

    /** For how many ticks no new segment has come. */
    var idle = 0L
        private set

    /** How many bytes it keeps. */
    val kept: Long get() = message.size + early.size.toLong() * first.size

    /** Whether all has arrived. */
    var isComplete = false
        private set

    /** What to do about a segment. */
    sealed interface Verdict {
        /** Nothing yet. */
        data object Wait : Verdict

        /** Tell the peer how far it came. */
        data object Acknowledge : Verdict

        /** Give up, and tell the peer why. */
        data class Refuse(
            val status: RMPPStatus,
        ) : Verdict
    }

    /** The clock ticks. */
    fun tick() {
        age++
        idle++
    }

    /** Takes a data packet. */
    fun take(mad: ByteArray): Verdict {
        val number = Rmpp.segment(mad)
        val fault = faultOf(mad, number)
        return when {
            fault != null -> Verdict.Refuse(fault)
            number <= segment -> Verdict.Acknowledge
            number > granted -> Verdict.Wait
            number > segment + 1 -> keep(number, mad)
            else -> append(mad)
        }
    }

    private fun faultOf(
        mad: ByteArray,
        number: Long,
    ): RMPPStatus? {
        val flags = Rmpp.flags(mad)
        val isFirst = RMPPFlag.FIRST in flags
        return when {
            Rmpp.status(mad) != RMPPStatus.NORMAL -> {
                RMPPStatus.ILLEGAL_STATUS
            }

            isFirst != (number == 1L) -> {
                RMPPStatus.INCONSISTENT_FIRST_AND_SEGMENT_NUMBER
            }

            // The length of a message of one segment is that segment's.
            RMPPFlag.LAST in flags && Rmpp.lengthOrWindow(mad) !in header..Rmpp.PAYLOAD -> {
                RMPPStatus.INCONSISTENT_LAST_AND_PAYLOAD_LENGTH
            }

            else -> {
                null
            }
        }
    }

    private fun keep(
        number: Long,
        mad: ByteArray,
    ): Verdict {
        val isNew = early.put(number, mad) == null
        // The first packet behind a gap tells the sender of the gap; all others behind it need not.
        return if (isNew && early.size == 1) Verdict.Acknowledge else Verdict.Wait
    }

    private fun append(mad: ByteArray): Verdict {
        val hadGap = early.isNotEmpty()
        idle = 0
        var next: ByteArray? = mad
        while (next != null) {
            segment++
            val fault = add(next)
            if (fault != null) return Verdict.Refuse(fault)
            if (isComplete) return Verdict.Acknowledge
            next = early.remove(segment + 1)
        }
        val isHalf = granted - segment <= settings.window / 2
        if (isHalf) granted = segment + settings.window
        return if (isHalf || hadGap || segment == 1L) Verdict.Acknowledge else Verdict.Wait
    }

    private fun add(mad: ByteArray): RMPPStatus? {
        val isLast = RMPPFlag.LAST in Rmpp.flags(mad)
        if (segment == 1L) announced = Rmpp.lengthOrWindow(mad)
        val size = if (isLast) (Rmpp.lengthOrWindow(mad) - header).toInt() else perSegment
        if (length.toLong() + size > settings.maxMessage) return RMPPStatus.RESOURCES_EXHAUSTED
        if (length + size > message.size) {
            val room = minOf(settings.maxMessage.toLong(), maxOf(length + size.toLong(), 2L * message.size))
            message = message.copyOf(room.toInt())
        }
        mad.copyInto(message, length, dataAt, dataAt + size)
        length += size
        isComplete = isLast
        return if (isLast && !isAsAnnounced()) RMPPStatus.INCONSISTENT_LAST_AND_PAYLOAD_LENGTH else null
    }

    /** The first segment's length counts the class's header in each segment; some senders leave them out. */
    private fun isAsAnnounced(): Boolean {
        val data = (length - dataAt).toLong()
        return announced == 0L || announced == data || announced == data + segment * header
    }

    /** The whole message: the header of the first segment, and all data. */
    fun message(): ByteArray = message.copyOf(length)
}
