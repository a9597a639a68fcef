package org.kverbs.cli.top

import java.util.Locale

/** The counts of ports as text: columns for people, or CSV. */
internal object TopText {
    private const val UNIT = 1000.0
    private val UNITS = listOf("", "k", "M", "G", "T")
    private const val NONE = "-"

    /** The head of the table. The counts of an interval are shown by the second, except those of what went wrong. */
    fun head(isTotal: Boolean): String {
        val second = if (isTotal) "" else "/s"
        val traffic = listOf("in B$second", "out B$second", "in pkt$second", "out pkt$second")
        return line("port", traffic + listOf("errors", "discards", "marks"))
    }

    fun row(counts: PortCounts): String {
        val (traffic, faults) = counts.all.withIndex().partition { it.index < TRAFFIC }
        val seconds = counts.seconds ?: 1.0
        val cells =
            traffic.map { (_, value) -> value?.let { short(it.toDouble() / seconds) } ?: NONE } +
                faults.map { (_, value) -> value?.toString() ?: NONE }
        return line("${counts.device}/${counts.port}", cells)
    }

    fun csv(counts: PortCounts): String =
        (listOf(counts.time, counts.seconds, counts.device, counts.port) + counts.all)
            .joinToString(",") { it?.toString().orEmpty() }

    private fun line(
        name: String,
        cells: List<String>,
    ) = name.padEnd(NAME) + cells.joinToString("") { it.padStart(CELL) }

    /** Three digits and a unit: 1.23M. */
    private fun short(value: Double): String {
        var left = value
        var unit = 0
        while (left >= UNIT && unit < UNITS.lastIndex) {
            left /= UNIT
            unit++
        }
        val digits =
            if (unit == 0 || left >= HUNDREDS) {
                0
            } else if (left >= TENS) {
                1
            } else {
                2
            }
        return String.format(Locale.ROOT, "%.${digits}f%s", left, UNITS[unit])
    }

    private const val TRAFFIC = 4
    private const val NAME = 14
    private const val CELL = 11
    private const val HUNDREDS = 100
    private const val TENS = 10
}
