package org.kverbs.samples.pingpong

import kotlin.time.Duration
import kotlin.time.Duration.Companion.nanoseconds

/** How long messages took there and back: the last million of them. */
class RoundTrips internal constructor(
    expected: Int,
) {
    private val nanoseconds = LongArray(minOf(expected, MOST))
    private var added = 0

    internal fun add(nanoseconds: Long) {
        this.nanoseconds[added++ % this.nanoseconds.size] = nanoseconds
    }

    /** How many are kept. */
    val count: Int get() = minOf(added, nanoseconds.size)

    /**
     * The shortest time that so large a [share] of them did not exceed: 0.0 gives the shortest, 0.5 the median.
     *
     * @throws NoSuchElementException if there is none
     */
    fun quantile(share: Double): Duration {
        if (count == 0) throw NoSuchElementException("no message went there and back")
        val sorted = nanoseconds.copyOf(count).apply { sort() }
        return sorted[(Math.ceil(share * count).toInt() - 1).coerceIn(0, count - 1)].nanoseconds
    }

    private companion object {
        const val MOST = 1_000_000
    }
}
