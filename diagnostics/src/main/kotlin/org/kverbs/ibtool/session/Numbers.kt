package org.kverbs.ibtool.session

import java.util.Locale

/**
 * Reads a number as C's `strtoul(text, NULL, 0)` does: hexadecimal behind 0x, octal behind 0, else decimal.
 *
 * @throws IllegalArgumentException if [text] is no such number as a whole
 */
internal fun number(text: String): Long {
    val digits = text.removePrefix("0x").removePrefix("0X")
    val value =
        when {
            digits.length < text.length -> digits.toULongOrNull(16)
            text.length > 1 && text.startsWith('0') -> text.toULongOrNull(8)
            else -> text.toULongOrNull()
        }
    return requireNotNull(value) {
        val what = if (text.startsWith('-')) "is no number from 0 up" else "is not a number"
        "\"${printable(text)}\" $what"
    }.toLong()
}

/**
 * Reads a number of at most 32 bits; one with all 32 is negative, as C's `int` is.
 *
 * @throws IllegalArgumentException if [text] is no such number
 */
internal fun int(text: String): Int = narrow(number(text))

/** The same for a number that was read. */
internal fun narrow(number: Long): Int {
    require(number in 0..MAX_INT) { "${number.toULong()} has more than 32 bits; give at most $MAX_INT" }
    return number.toInt()
}

/**
 * Reads a number of an option.
 *
 * @throws IllegalArgumentException if [text] is none, or is not in [range]
 */
internal fun ranged(
    text: String,
    range: LongRange,
): Long =
    number(text).also { value ->
        require(value in range) { "${value.toULong()} is too small or too large: give ${range.first} to ${range.last}" }
    }

/**
 * Reads the number of a port; 255 stands for all.
 *
 * @throws IllegalArgumentException if [text] is no number from 0 to 255
 */
internal fun portNumber(text: String): Int = ranged(text, 0L..MOST_PORTS).toInt()

/**
 * Reads a LID.
 *
 * @throws IllegalArgumentException if [text] is no number of 16 bits
 */
internal fun lidNumber(text: String): Int = ranged(text, 0L..MOST_LIDS).toInt()

/**
 * Reads how often something is done, once at least.
 *
 * @throws IllegalArgumentException if [text] is no such number
 */
internal fun times(text: String): Long = ranged(text, 1L..Int.MAX_VALUE)

private const val MOST_PORTS = 255L
private const val MOST_LIDS = 0xffffL
private const val MAX_INT = 0xffffffffL

/** Whether [number] takes the text for a number in digits: a LID, but no name. */
internal fun isNumber(text: String): Boolean = digits.matches(text)

private val digits = Regex("0[xX]\\p{XDigit}+|\\d+")

/** Text from outside without what moves a terminal's cursor, or turns the text around. */
internal fun printable(text: String): String = text.map { if (it.isHidden()) '?' else it }.joinToString("")

/** Whether a character shows nothing itself, but changes how a terminal shows others. */
internal fun Char.isHidden(): Boolean = isISOControl() || category == CharCategory.FORMAT

/** The lower case hexadecimal digits of C's `%016lx`. */
internal fun hex16(value: Long): String = value.toHexString()

/** C's `%lx`. */
internal fun hex(value: Long): String = java.lang.Long.toHexString(value)

/** C's `%x`. */
internal fun hex(value: Int): String = Integer.toHexString(value)

/** C's `printf` of numbers. */
internal fun String.with(vararg values: Any): String = format(Locale.ROOT, *values)
