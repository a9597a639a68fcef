package org.kverbs.cli.perf

import kotlin.time.Duration

/**
 * The messages of one row, or of the warm-up.
 *
 * @property size bytes of a message
 * @property iterations the number of messages of each queue pair; ignored with a [duration]
 * @property duration how long messages are sent, or null
 * @property leads true for the end that sends first, usually the client, and decides when a round with a duration ends
 * @property sends true if this end sends; in a test of bandwidth the server does so only with `-b`
 * @property receives true if messages arrive at this end that take a receive
 * @property marksEnd true if the last message by turns bears a mark. Programs of perftest know none.
 */
internal class Round(
    val size: Int,
    val iterations: Int,
    val duration: Duration?,
    val leads: Boolean,
    val sends: Boolean,
    val receives: Boolean,
    val marksEnd: Boolean,
) {
    private var endsAt = Long.MAX_VALUE

    /** Starts the clock of a round with a duration. */
    fun begin(now: Long) {
        if (duration != null) endsAt = now + duration.inWholeNanoseconds
    }

    /** True if the message with this number, from 0, is the last of its queue pair. */
    fun isLast(
        number: Int,
        now: Long,
    ): Boolean = if (duration == null) number + 1 >= iterations else now >= endsAt || number == Int.MAX_VALUE - 1

    /** The last byte of a written message: another one than that of the message before, and never 0 with marks. */
    fun stamp(
        number: Int,
        isLast: Boolean,
    ): Byte =
        when {
            !marksEnd -> (number + 1).toByte()
            isLast -> (number % STAMPS + 1 or LAST).toByte()
            else -> (number % STAMPS + 1).toByte()
        }

    companion object {
        private const val STAMPS = 127
        private const val LAST = 0x80

        /** True if the byte of [stamp] marks the last message. */
        fun isEnd(stamp: Byte) = stamp < 0
    }
}
