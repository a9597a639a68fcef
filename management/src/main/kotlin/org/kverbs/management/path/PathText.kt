package org.kverbs.management.path

import org.kverbs.structures.Lid

private const val MAX_LENGTH = 1000
private const val NUMBER = "0x\\p{XDigit}{1,6}|\\d{1,8}"

/** Reads the text forms of paths. The patterns can't backtrack for long, and no text is longer than [MAX_LENGTH]. */
internal object PathText {
    private val bareHops = Regex("\\d{1,3}(?:,\\d{1,3})+|0")
    private val printedHops = Regex("DR Path \\((\\d{1,3}(?:, \\d{1,3})*)\\)")
    private val bareLid = Regex(NUMBER)
    private val printedLid =
        Regex("Path (?:($NUMBER) -> )?($NUMBER) SL=($NUMBER) PKey=($NUMBER) DQPN=($NUMBER)")

    fun parse(text: String): MadPath {
        require(text.length <= MAX_LENGTH) { "a path has at most $MAX_LENGTH characters, not ${text.length}" }
        val hops = printedHops.matchEntire(text)?.groupValues?.get(1) ?: bareHops.matchEntire(text)?.value
        val printed = printedLid.matchEntire(text)
        return when {
            hops != null -> DirectedPath(hops.split(',').map { it.trim().toInt() })
            printed != null -> lidPath(printed.groupValues.drop(1))
            '=' in text -> PathFields.parse(text, ::checkedNumber, ::shown)
            else -> LidPath(bare(text))
        }
    }

    private fun lidPath(values: List<String>): LidPath {
        val (source, destination, serviceLevel, partitionKey, queuePair) = values
        return LidPath(
            Lid(number(destination)),
            source.takeIf { it.isNotEmpty() }?.let { Lid(number(it)) },
            number(serviceLevel),
            number(partitionKey),
            number(queuePair),
        )
    }

    private fun bare(text: String): Lid {
        require(bareLid.matches(text)) {
            "\"${shown(text)}\" is not a path: give ports such as 0,1,4, a LID such as 12, or what a path prints"
        }
        return Lid(number(text))
    }

    private fun checkedNumber(text: String): Int {
        require(bareLid.matches(text)) { "\"${shown(text)}\" is not a number of a path: give 12 or 0xc" }
        return number(text)
    }

    private fun number(text: String): Int = if (text.startsWith("0x")) text.drop(2).toInt(16) else text.toInt()

    /** Text from outside in a message: short, and without control characters. */
    private fun shown(text: String): String =
        text.take(40).map { if (it.isISOControl()) '?' else it }.joinToString("") + if (text.length > 40) "..." else ""
}
