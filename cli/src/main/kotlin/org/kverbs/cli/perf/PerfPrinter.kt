package org.kverbs.cli.perf

import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonObjectBuilder
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonObject
import org.HdrHistogram.Histogram
import org.kverbs.Context
import org.kverbs.cli.prettyJson
import java.util.Locale

/**
 * Prints a measurement: the devices and the addresses, perftest's table, and what the options ask for besides.
 *
 * @param tell takes a line for the user that is no part of the figures
 * @param print takes one line or several
 */
internal class PerfPrinter(
    private val options: PerfOptions,
    private val output: PerfOutput,
    private val tell: (String) -> Unit,
    private val print: (String) -> Unit,
) : PerfListener {
    private val columns = columns(options.test, output.units)
    private val rows = mutableListOf<Pair<PerfRow, Histogram?>>()
    private val isTable = output.format == PerfFormat.TABLE
    private var devices = 0

    /** Prints the title. */
    fun begin() {
        if (!isTable) return
        print(LINE)
        print(" ".repeat(INDENT) + options.test.title)
    }

    override fun opened(device: Context) {
        if (!isTable) return
        val role = if (devices++ == 0) "device:       " else "remote device:"
        val gidIndex = options.gidIndex ?: device.defaultGidIndex(options.devicePort)
        print("  $role  ${device.device().name()}, port ${options.devicePort}, GID index $gidIndex, RC")
    }

    override fun listening(port: Int) {
        if (isTable) print("  listening at:   TCP port $port") else tell("kverbs: listening at TCP port $port")
    }

    override fun connected(places: List<Pair<Meeting.Place, Meeting.Place>>) {
        if (!isTable) return
        print("  played by:      ${options.waiting}")
        if (options.transport != null) print("  transport:      ${options.transport}")
        if (!options.test.isLatency) {
            print("  under way:      ${options.depth} messages of each of ${options.queuePairs} queue pairs")
        }
        if (options.bothWays) print("  directions:     both; the rates are the sum")
        if (options.byConnectionManager) print("  connected by:   rdma_cm")
        for ((ours, theirs) in places.take(MOST_SHOWN)) {
            print("  local address:  ${text(ours)}")
            print("  remote address: ${text(theirs)}")
        }
        if (places.size > MOST_SHOWN) print("  and ${places.size - MOST_SHOWN} more queue pairs")
        val warmUp = options.warmUpMessages
        print("  warm-up:        " + if (warmUp == 0) "none: a cold JVM is measured" else "$warmUp messages")
        print(LINE)
        print(tableHead(columns))
    }

    private fun text(place: Meeting.Place) =
        "LID 0x%04x, QPN 0x%06x, PSN 0x%06x, GID %s".format(
            Locale.ROOT,
            place.endpoint.lid(),
            place.endpoint.queuePairNumber(),
            place.endpoint.psn(),
            place.endpoint.gid().toCompactString(),
        )

    override fun row(
        row: PerfRow?,
        times: Histogram?,
    ) {
        if (row == null) return
        rows += row to times
        if (!isTable) return
        print(tableLine(columns, row))
        if (times == null || times.totalCount == 0L) return
        if (output.percentiles) print(PerfHistogram.percentiles(times))
        if (output.histogram) PerfHistogram(times).lines().forEach(print)
    }

    /** Prints the end, and what waits for all rows. */
    fun end() {
        when (output.format) {
            PerfFormat.TABLE -> print(if (rows.isEmpty()) "  the client has the figures\n$LINE" else LINE)
            PerfFormat.CSV -> csv()
            PerfFormat.JSON -> print(prettyJson.encodeToString(JsonArray.serializer(), JsonArray(rows.map(::json))))
        }
    }

    private fun csv() {
        print(columns.joinToString(",", "test,", ",seconds") { it.name })
        for ((row, _) in rows) {
            val seconds = "%.6f".format(Locale.ROOT, row.seconds)
            print(columns.joinToString(",", "${options.test},", ",$seconds") { it.text(row) })
        }
    }

    private fun json(figures: Pair<PerfRow, Histogram?>): JsonObject =
        buildJsonObject {
            val (row, times) = figures
            put("test", "${options.test}")
            columns.forEach { put(it.name, it.value(row)) }
            put("seconds", row.seconds)
            if (output.percentiles && times != null) putJsonObject("percentiles_usec") { percentiles(times) }
        }

    private fun JsonObjectBuilder.percentiles(times: Histogram) {
        for (share in PERCENTILES) put("$share", times.getValueAtPercentile(share) / NANOS)
    }

    /** The chart of the rows, or of the times of a single row; null if there are no figures. */
    fun svg(): String? {
        val title = "kverbs perf ${options.test}"
        val (row, times) = rows.singleOrNull() ?: return if (rows.isEmpty()) null else "${chart(title)}"
        if (times == null) return "${chart(title)}"
        val histogram = PerfHistogram(times)
        val bars = histogram.labels.zip(histogram.counts.map { it.toDouble() })
        return "${PerfSvg("$title, ${row.size} bytes", "messages", "up to usec", bars)}"
    }

    private fun chart(title: String): PerfSvg {
        val unit = if (options.test.isLatency) "usec" else output.units.text
        val bars =
            rows.map { (row, _) ->
                "${row.size}" to
                    when (row) {
                        is PerfRow.Latency -> row.typical
                        is PerfRow.Bandwidth -> output.units.of(row.size, row.average)
                    }
            }
        return PerfSvg(title, unit, "bytes", bars)
    }

    private companion object {
        const val INDENT = 20
        const val MOST_SHOWN = 4
        const val NANOS = 1e3
        val LINE = "-".repeat(87)
        val PERCENTILES = listOf(0.0, 50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0)
    }
}

/** What is printed of a measurement. */
internal class PerfOutput(
    val format: PerfFormat,
    val units: PerfUnits,
    val percentiles: Boolean,
    val histogram: Boolean,
)
