package org.kverbs.cli.perf

/**
 * The figures of one size.
 *
 * @property size bytes of a message
 * @property iterations the messages that were measured
 * @property seconds from the first message to the end of the last
 */
internal sealed interface PerfRow {
    val size: Int
    val iterations: Long
    val seconds: Double

    /** The columns of perftest's table of latencies, in microseconds. */
    data class Latency(
        override val size: Int,
        override val iterations: Long,
        override val seconds: Double,
        val minimum: Double,
        val maximum: Double,
        val typical: Double,
        val average: Double,
        val deviation: Double,
        val percentile99: Double,
        val percentile999: Double,
    ) : PerfRow

    /** Messages a second, from which perftest's columns follow. */
    data class Bandwidth(
        override val size: Int,
        override val iterations: Long,
        override val seconds: Double,
        val peak: Double,
        val average: Double,
    ) : PerfRow {
        /** The rates of both directions together. The messages stay those of this end, as in perftest's table. */
        operator fun plus(other: Bandwidth) =
            Bandwidth(
                size,
                iterations,
                maxOf(seconds, other.seconds),
                peak + other.peak,
                average + other.average,
            )
    }

    /** The line in which one end tells the other its figures. */
    fun toLine(): String =
        when (this) {
            is Latency -> {
                "lat $size $iterations $seconds $minimum $maximum $typical $average $deviation $percentile99 " +
                    "$percentile999"
            }

            is Bandwidth -> {
                "bw $size $iterations $seconds $peak $average"
            }
        }

    companion object {
        private const val NANOS = 1e3
        private const val NANOS_PER_SECOND = 1e9

        /** The figures of what was measured. */
        fun of(
            test: PerfTest,
            size: Int,
            measured: Measured,
        ): PerfRow {
            val seconds = measured.elapsed / NANOS_PER_SECOND
            val times = measured.times
            val count = measured.done
            if (!test.isLatency) return Bandwidth(size, count, seconds, measured.peak(), count / seconds)
            return Latency(
                size,
                count,
                seconds,
                times.minValue / NANOS,
                times.maxValue / NANOS,
                times.getValueAtPercentile(50.0) / NANOS,
                times.mean / NANOS,
                times.stdDeviation / NANOS,
                times.getValueAtPercentile(99.0) / NANOS,
                times.getValueAtPercentile(99.9) / NANOS,
            )
        }

        /** Reads a line of [toLine]; null if the text is none. */
        fun parse(line: String): PerfRow? {
            val words = line.split(' ')
            val figures = words.drop(3).map { word -> word.toDoubleOrNull()?.takeIf { it.isFinite() } ?: return null }
            val size = words.getOrNull(1)?.toIntOrNull() ?: return null
            val count = words.getOrNull(2)?.toLongOrNull() ?: return null
            return when {
                words[0] == "bw" && figures.size == 3 -> {
                    Bandwidth(size, count, figures[0], figures[1], figures[2])
                }

                words[0] == "lat" && figures.size == 8 -> {
                    val (seconds, minimum, maximum, typical, average) = figures
                    Latency(
                        size,
                        count,
                        seconds,
                        minimum,
                        maximum,
                        typical,
                        average,
                        figures[5],
                        figures[6],
                        figures[7],
                    )
                }

                else -> {
                    null
                }
            }
        }
    }
}
