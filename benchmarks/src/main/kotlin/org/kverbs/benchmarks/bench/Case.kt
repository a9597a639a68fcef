package org.kverbs.benchmarks.bench

/**
 * What every contender is measured by.
 *
 * @property title the words of a table
 * @property bytes the size of a message
 * @property isRoundTrip true for a time there and back, in microseconds; false for a rate, in MB (10^6 bytes) a second
 */
internal enum class Case(
    val title: String,
    val bytes: Int,
    val isRoundTrip: Boolean,
) {
    ROUND_TRIP_64("64 B there and back", 64, true),
    ROUND_TRIP_4_KIB("4 KiB there and back", 4096, true),
    STREAM_64_KIB("stream of 64 KiB", 1 shl 16, false),
    STREAM_1_MIB("stream of 1 MiB", 1 shl 20, false),
    ;

    /** The unit of the figures. */
    val unit get() = if (isRoundTrip) "us" else "MB/s"

    /** The name in JSON: `round-trip-64`. */
    override fun toString() = name.lowercase().replace('_', '-')

    /** How many times [figure] is better than [other]: above one, it is faster. */
    fun gain(
        figure: Double,
        other: Double,
    ) = if (isRoundTrip) other / figure else figure / other
}
