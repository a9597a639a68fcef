package org.kverbs.cli.perf

import org.HdrHistogram.Histogram
import java.io.ByteArrayOutputStream
import java.io.PrintStream
import java.util.Locale

/**
 * The times of a row in parts of equal width, from the shortest to the 99th percentile, and the longer ones together.
 *
 * @property labels the end of each part, microseconds
 * @property counts the messages of each part
 */
internal class PerfHistogram(
    times: Histogram,
) {
    val labels: List<String>
    val counts: List<Long>

    init {
        val low = times.minValue
        val width = maxOf((times.getValueAtPercentile(99.0) - low) / PARTS, 1)
        val ends = (1..PARTS).map { low + it * width }
        val parts = LongArray(PARTS + 1)
        for (value in times.recordedValues()) {
            val at = value.valueIteratedTo
            val part = ((at - low).coerceAtLeast(0) / width).coerceAtMost(PARTS.toLong()).toInt()
            parts[part] += value.countAtValueIteratedTo
        }
        labels = ends.map { "%.2f".format(Locale.ROOT, it / NANOS) } + "more"
        counts = parts.asList()
    }

    /** A line with a bar for each part from the first with a message to the last. */
    fun lines(): List<String> {
        val wide = labels.maxOf { it.length }
        val most = counts.max()
        val shown = counts.indexOfFirst { it > 0 }..counts.indexOfLast { it > 0 }
        return shown.map { i ->
            val bar = "#".repeat(((counts[i] * BAR + most - 1) / most).toInt())
            val isRest = i == PARTS
            val end = labels[if (isRest) i - 1 else i].padStart(wide)
            " %2s %s usec %10d %s".format(Locale.ROOT, if (isRest) ">=" else "<", end, counts[i], bar).trimEnd()
        }
    }

    companion object {
        private const val PARTS = 24
        private const val BAR = 60
        private const val NANOS = 1e3

        /** HdrHistogram's table of percentiles, in microseconds. */
        fun percentiles(times: Histogram): String {
            val bytes = ByteArrayOutputStream()
            PrintStream(bytes, false, Charsets.UTF_8).use { times.outputPercentileDistribution(it, NANOS) }
            return bytes.toString(Charsets.UTF_8).trimEnd()
        }
    }
}
