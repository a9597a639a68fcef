package org.kverbs.cli.perf

import org.HdrHistogram.Histogram

/**
 * The figures of one row, as an end measures them. One thread writes, any can read [done].
 *
 * @property isHalved true if a time there and back counts as two messages
 */
internal class Measured(
    private val isHalved: Boolean,
) {
    /** The times of messages, nanoseconds. */
    val times = Histogram(LONGEST, DIGITS)
    private val marks = LongArray(2 * MARKS)
    private var marked = 0
    private var nextMark = 0L
    private var spacing = 1L

    /** The number of messages that are done. */
    @Volatile
    var done = 0L
        private set
    private var began = 0L
    private var ended = 0L

    /** The nanoseconds from the start to the end. */
    val elapsed get() = maxOf(ended - began, 1)

    /**
     * Starts the clock; about [expected] messages will follow, of which [underWay] can complete at one moment, after a
     * longer time in which the device worked for them. So a part of the row has many more messages.
     */
    fun begin(
        now: Long,
        expected: Long,
        underWay: Long,
    ) {
        began = now
        spacing = maxOf(expected / PARTS, BURSTS * underWay)
        nextMark = spacing
    }

    /** Adds a message that took so long, there and back if it is halved. */
    fun add(nanoseconds: Long) {
        times.recordValue((if (isHalved) nanoseconds / 2 else nanoseconds).coerceIn(1, LONGEST))
        done++
    }

    /** Says that so many messages are done in all. */
    fun done(
        total: Long,
        now: Long,
    ) {
        done = total
        if (total < nextMark) return
        if (marked == MARKS) halveMarks()
        marks[2 * marked] = now
        marks[2 * marked + 1] = total
        marked++
        nextMark = total + spacing
    }

    /** Says that so many messages were sent by turns: the end that answers has no time of the first. */
    fun sent(messages: Long) {
        done = messages
    }

    /** Stops the clock. */
    fun end(now: Long) {
        ended = now
    }

    /** Messages a second in the best part of about twenty; the average if there is no part. */
    fun peak(): Double {
        var best = done * SECOND / elapsed
        var time = began
        var total = 0L
        // A test with a duration has up to fifty times as many marks: the best of shorter parts would be higher.
        val step = maxOf(marked / PARTS, 1)
        for (i in step - 1..<marked step step) {
            val passed = marks[2 * i] - time
            if (passed >= SHORTEST_PART) {
                best = maxOf(best, (marks[2 * i + 1] - total) * SECOND / passed)
            }
            time = marks[2 * i]
            total = marks[2 * i + 1]
        }
        return best
    }

    /** Keeps every second mark: a test with a duration has more messages than were expected. */
    private fun halveMarks() {
        for (i in 0..<MARKS / 2) {
            marks[2 * i] = marks[4 * i + 2]
            marks[2 * i + 1] = marks[4 * i + 3]
        }
        marked = MARKS / 2
        spacing *= 2
    }

    companion object {
        private const val PARTS = 20
        private const val BURSTS = 8
        private const val MARKS = 1024
        private const val DIGITS = 3
        private const val SECOND = 1e9

        /** A part that is shorter says more of the clock and the batches of completions than of the device. */
        private const val SHORTEST_PART = 100_000L

        /** An hour. */
        private const val LONGEST = 3_600_000_000_000L
    }
}
