package org.kverbs.ibtool.session

import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.addJsonObject
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonArray
import kotlinx.serialization.json.putJsonObject
import org.kverbs.structures.Structure
import kotlin.time.DurationUnit
import kotlin.time.TimeSource

/** How fast the counters grow that a command reads again and again. */
internal class CounterGrowth {
    private class Sample(
        val values: Map<String, Long>,
        val time: TimeSource.Monotonic.ValueTimeMark,
    )

    private val samples = LinkedHashMap<String, Sample>()
    private val moved = LinkedHashMap<String, Map<String, Double>>()

    /** Takes in counters that were read now. [where] names the port, and which counters of it. */
    fun record(
        where: String,
        counters: Structure,
    ) {
        val values =
            counters.description.fields
                .mapNotNull { field -> field.label?.let { it to counters[field.name] } }
                .filter { (label, value) -> value is Long && "Select" !in label }
                .associate { (label, value) -> label to value as Long }
        val now = Sample(values, TimeSource.Monotonic.markNow())
        samples.put(where, now)?.let { compare(where, it, now) }
    }

    private fun compare(
        where: String,
        before: Sample,
        now: Sample,
    ) {
        val seconds = (now.time - before.time).toDouble(DurationUnit.SECONDS)
        val rates =
            now.values
                .mapValues { (name, value) -> grown(before.values[name] ?: 0, value) }
                .filterValues { it != 0L }
                .mapValues { (_, growth) -> growth.toULong().toDouble() / seconds }
        if (rates.isNotEmpty()) moved[where] = rates
    }

    /** A counter that was reset meanwhile counts from zero. */
    private fun grown(
        before: Long,
        now: Long,
    ): Long = if (java.lang.Long.compareUnsigned(now, before) >= 0) now - before else now

    /** Forgets the rates, and keeps the counters for the next ones. */
    fun next(): Unit = moved.clear()

    /** A line for each port whose counters moved. */
    fun text(): String =
        moved.entries.joinToString("") { (where, rates) ->
            "$where: " + rates.entries.joinToString(" ") { (name, rate) -> "[$name == ${"%.1f".with(rate)}/s]" } + "\n"
        }

    /** The rates by the names of the counters, as the value of `rates`. */
    fun json(): JsonObject =
        buildJsonObject {
            putJsonArray("rates") {
                for ((where, rates) in moved) {
                    addJsonObject {
                        put("counters", where)
                        putJsonObject("perSecond") { rates.forEach { (name, rate) -> put(name, rate) } }
                    }
                }
            }
        }
}
