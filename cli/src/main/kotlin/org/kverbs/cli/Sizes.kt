package org.kverbs.cli

private val SIZE = Regex("([0-9]{1,18})(?:([kmgt])?(i?b)?)?", RegexOption.IGNORE_CASE)

/**
 * Reads a number of bytes with a unit or without one: `4096`, `64K`, `1MiB`, `10GB`. As in dd(1), K, M, G and T are
 * powers of 1024, as KiB is, and KB, MB, GB and TB are powers of 1000.
 *
 * @return null if the text is no such number, or one beyond 2^63 - 1
 */
internal fun bytesOf(text: String): Long? {
    val (digits, prefix, suffix) = SIZE.matchEntire(text)?.destructured ?: return null
    if (prefix.isEmpty() && suffix.equals("iB", ignoreCase = true)) return null
    val base = if (suffix.equals("B", ignoreCase = true)) DECIMAL else BINARY
    var bytes = digits.toLong()
    repeat(if (prefix.isEmpty()) 0 else "kmgt".indexOf(prefix.lowercase()) + 1) {
        if (bytes > Long.MAX_VALUE / base) return null
        bytes *= base
    }
    return bytes
}

private const val BINARY = 1024L
private const val DECIMAL = 1000L
