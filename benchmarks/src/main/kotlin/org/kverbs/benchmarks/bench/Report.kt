package org.kverbs.benchmarks.bench

import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.addJsonObject
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonArray
import kotlinx.serialization.json.putJsonObject
import org.kverbs.cli.perf.PerfSvg
import java.util.Locale

/**
 * The figures of a measurement as text, Markdown, JSON and pictures. Ratios are to the first contender that has
 * figures.
 *
 * @property machine where it was
 * @param handovers the nanoseconds of each [Handover] between the measurements
 */
internal class Report(
    val machine: Machine,
    private val figures: List<Figures>,
    private val handovers: List<Long> = emptyList(),
) {
    private val measured = figures.filter { it.areThere }
    private val base = measured.firstOrNull()

    /** The names of the contenders that failed. */
    val failed get() = figures.filter { it.failure != null }.map { it.name }

    /** The table for a terminal. */
    fun text(): String {
        val width = measured.maxOfOrNull { it.title.length } ?: 0
        val head = " ".repeat(width) + Case.entries.joinToString("") { "%24s".format(it.title) }
        val rows =
            measured.map { of ->
                of.title.padEnd(width) + Case.entries.joinToString("") { "%24s".format(cell(of, it)) }
            }
        val base = base?.let { "\nIn brackets: how many times as fast as ${it.title}." }.orEmpty()
        return (listOf(head) + rows).joinToString("\n") + base + handover?.let { "\n$it" }.orEmpty()
    }

    /** What two threads of a process pay for the way from one to the other, as a sentence; null if not measured. */
    val handover: String? =
        if (handovers.isEmpty()) {
            null
        } else {
            "Between the measurements a cache line took ${handovers.min()} to ${handovers.max()} ns from one " +
                "processor to another and back. Above 200 ns they share no cache, and what two threads exchange " +
                "in memory is slower."
        }

    /** The table for docs/performance.md. */
    fun markdown(): String {
        val head = "| | " + Case.entries.joinToString(" | ") { it.title } + " |"
        val rows = measured.map { of -> "| ${of.title} | " + Case.entries.joinToString(" | ") { cell(of, it) } + " |" }
        return (listOf(head, "|---".repeat(Case.entries.size + 1) + "|") + rows).joinToString("\n")
    }

    /** A picture of a case. */
    fun picture(case: Case): String =
        PerfSvg(case.title, case.unit, "", measured.map { it.name to it.median(case) }).toString()

    private fun cell(
        of: Figures,
        case: Case,
    ): String {
        val figure = of.median(case)
        val gain = base?.let { case.gain(figure, it.median(case)) } ?: 1.0
        return "${shown(figure)} ${case.unit} (${shown(gain)})"
    }

    /** Three digits, as a table has room for. */
    private fun shown(value: Double) =
        when {
            value >= HUNDRED -> "%,.0f"
            value >= TEN -> "%.1f"
            else -> "%.2f"
        }.format(Locale.ROOT, value)

    /** All figures, those of each round as well. */
    fun json(): String {
        val document =
            buildJsonObject {
                putJsonObject("machine") {
                    put("processors", machine.processors)
                    put("model", machine.model)
                    put("kernel", machine.kernel)
                    put("java", machine.java)
                    put("load", machine.load)
                    put("day", "${machine.day}")
                }
                putJsonArray("handoverNanos") { handovers.forEach { add(JsonPrimitive(it)) } }
                putJsonArray("contenders") { figures.forEach { addJsonObject { putAll(it) } } }
            }
        return Json { prettyPrint = true }.encodeToString(JsonObject.serializer(), document) + "\n"
    }

    private fun kotlinx.serialization.json.JsonObjectBuilder.putAll(of: Figures) {
        put("name", of.name)
        put("title", of.title)
        of.failure?.let { put("failure", it) }
        if (of.areThere) putJsonObject("cases") { Case.entries.forEach { put("$it", case(of, it)) } }
    }

    private fun case(
        of: Figures,
        case: Case,
    ) = buildJsonObject {
        put("unit", case.unit)
        put("median", of.median(case))
        base?.let { put("ratio", case.gain(of.median(case), it.median(case))) }
        putJsonArray("rounds") { of.all(case).forEach { add(JsonPrimitive(it)) } }
    }

    private companion object {
        const val HUNDRED = 100
        const val TEN = 10
    }
}
