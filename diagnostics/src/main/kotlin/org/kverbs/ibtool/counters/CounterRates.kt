package org.kverbs.ibtool.counters

import java.math.BigDecimal
import java.math.MathContext

/** How fast counters grow between two samples that are [seconds] apart. */
internal class CounterRates(
    private val before: CounterSample,
    private val now: CounterSample,
    private val seconds: Long,
) {
    /** The growth in a second. */
    val all: Map<String, Double> =
        now.values.mapValues { (name, value) -> (value - before.values.getValue(name)).toDouble() / seconds }

    /** A sentence for each counter of errors that grows. */
    fun errors(): List<String> =
        CounterSample.LIMITED.mapNotNull { name ->
            val rate = all[name] ?: 0.0
            when {
                rate > LIMIT -> "Detected excessive rate for $name (${text(rate)} cnts/sec)"
                rate > 0 -> "Detected rate for $name (${text(rate)} cnts/sec)"
                else -> null
            }
        }

    /** The data and packets in a second. */
    fun traffic(): List<String> = CounterSample.TRAFFIC.map { "   ${text(all[it] ?: 0.0)} $it/second" }

    /** All counters, new and old. */
    fun table(): List<String> =
        listOf("   Counter\t\t\tNew ==> Old") +
            now.values.map { (name, value) -> "   $name\t\t\t$value ==> ${before.values[name]}" }

    /** As Perl prints a number. */
    private fun text(rate: Double): String =
        BigDecimal(rate).round(MathContext(DIGITS)).stripTrailingZeros().toPlainString()

    private companion object {
        private const val LIMIT = 10.0
        private const val DIGITS = 15
    }
}
