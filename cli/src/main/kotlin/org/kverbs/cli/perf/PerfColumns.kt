package org.kverbs.cli.perf

import java.util.Locale

/**
 * The columns of perftest's tables.
 *
 * @property title as perftest writes it
 * @property name in CSV and JSON
 * @property digits behind the point
 */
internal class PerfColumn<R : PerfRow>(
    val title: String,
    val name: String,
    private val digits: Int,
    val value: (R) -> Number,
) {
    /** The value as text. */
    fun text(row: R): String = "%.${digits}f".format(Locale.ROOT, value(row).toDouble())
}

private val LATENCY =
    listOf<PerfColumn<PerfRow.Latency>>(
        PerfColumn("#bytes", "bytes", 0) { it.size },
        PerfColumn("#iterations", "iterations", 0) { it.iterations },
        PerfColumn("t_min[usec]", "t_min_usec", 2) { it.minimum },
        PerfColumn("t_max[usec]", "t_max_usec", 2) { it.maximum },
        PerfColumn("t_typical[usec]", "t_typical_usec", 2) { it.typical },
        PerfColumn("t_avg[usec]", "t_avg_usec", 2) { it.average },
        PerfColumn("t_stdev[usec]", "t_stdev_usec", 2) { it.deviation },
        PerfColumn("99% percentile[usec]", "p99_usec", 2) { it.percentile99 },
        PerfColumn("99.9% percentile[usec]", "p99.9_usec", 2) { it.percentile999 },
    )

private fun bandwidth(units: PerfUnits) =
    units.text.lowercase().replace("/", "_per_").let { unit ->
        listOf<PerfColumn<PerfRow.Bandwidth>>(
            PerfColumn("#bytes", "bytes", 0) { it.size },
            PerfColumn("#iterations", "iterations", 0) { it.iterations },
            PerfColumn("BW peak[${units.text}]", "bw_peak_$unit", 2) { units.of(it.size, it.peak) },
            PerfColumn("BW average[${units.text}]", "bw_average_$unit", 2) { units.of(it.size, it.average) },
            PerfColumn("MsgRate[Mpps]", "message_rate_mpps", 6) { it.average / MILLION },
        )
    }

private const val MILLION = 1e6

/** The columns for the rows of a test. */
@Suppress("UNCHECKED_CAST") // a test has rows of one type
internal fun columns(
    test: PerfTest,
    units: PerfUnits,
): List<PerfColumn<PerfRow>> = (if (test.isLatency) LATENCY else bandwidth(units)) as List<PerfColumn<PerfRow>>

/** The line over perftest's table. */
internal fun tableHead(columns: List<PerfColumn<PerfRow>>) = columns.joinToString("  ", " ") { it.title }

/** A line of perftest's table, with the values under their titles. */
internal fun tableLine(
    columns: List<PerfColumn<PerfRow>>,
    row: PerfRow,
) = columns.joinToString("  ", " ") { it.text(row).padEnd(it.title.length) }.trimEnd()
