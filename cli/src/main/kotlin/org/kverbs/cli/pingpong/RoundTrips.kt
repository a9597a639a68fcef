package org.kverbs.cli.pingpong

import kotlin.math.ceil
import kotlin.time.Duration
import kotlin.time.Duration.Companion.nanoseconds

/** The times of round trips: those of the last million. */
class RoundTrips internal constructor(
    expected: Int,
) {
    private val times = LongArray(minOf(expected, MOST))
    private var added = 0

    internal fun add(nanoseconds: Long) {
        times[added++ % times.size] = nanoseconds
    }

    /** The number of times that are kept. */
    val count: Int get() = minOf(added, times.size)

    /**
     * For each share of the messages the time that these did not exceed: 0.0 gives the shortest, 0.5 the median.
     *
     * @throws NoSuchElementException if there was no message
     */
    fun quantiles(vararg shares: Double): List<Duration> {
        if (count == 0) throw NoSuchElementException("no message went there and back")
        val sorted = times.copyOf(count).apply { sort() }
        return shares.map { sorted[(ceil(it * count).toInt() - 1).coerceIn(sorted.indices)].nanoseconds }
    }

    private companion object {
        const val MOST = 1_000_000
    }
}
