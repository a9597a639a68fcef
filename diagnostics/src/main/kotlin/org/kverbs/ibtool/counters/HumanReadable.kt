package org.kverbs.ibtool.counters

import java.math.BigDecimal
import java.math.RoundingMode

private const val STEP = 1024
private const val WORD = 4
private const val DIGITS = 3
private val units = listOf("", "K", "M", "G", "T", "P", "E")

/**
 * Returns a counter with a unit, such as `1.500K`, or `6.000KB` for [isData], which counts words of 4 bytes. It is
 * reckoned in floats, as infiniband-diags does.
 */
internal fun humanReadable(
    value: Long,
    isData: Boolean,
): String {
    var unit = 0
    var divisor = 1L
    var rest = java.lang.Long.divideUnsigned(value, STEP.toLong())
    while (rest != 0L) {
        unit++
        rest /= STEP
        divisor *= STEP
    }
    var number = value.toULong().toFloat()
    if (isData) {
        number *= WORD
        if (number / divisor > STEP) {
            unit++
            divisor *= STEP
        }
    }
    number /= divisor
    val digits = BigDecimal(number.toDouble()).setScale(DIGITS, RoundingMode.HALF_EVEN).toPlainString()
    return digits.padStart(DIGITS + 2) + (units.getOrNull(unit)?.let { if (isData) it + "B" else it } ?: "")
}
