package org.kverbs.structures

/** A line of a description, which an error names. */
internal class Place(
    val source: String,
    val line: Int,
) {
    fun fail(problem: String): Nothing = throw DescriptionException(source, line, problem)
}

/** What a text says, before names are looked up. */
internal class Raw(
    val structures: List<RawStructure>,
    val lists: List<RawList>,
)

internal class RawStructure(
    val place: Place,
    val name: String,
    val bits: Int?,
    val classes: List<IntRange>,
    val classVersion: Int,
    val isPublished: Boolean,
    val documentation: String?,
) {
    val attributes = mutableListOf<Attribute>()
    val fields = mutableListOf<RawField>()
}

internal class RawField(
    val place: Place,
    val offset: Int?,
    val type: String,
    val width: Int?,
    val name: String,
    val count: Int,
    val options: Options,
    val documentation: String?,
)

/** What can stand behind a field's name. */
internal class Options {
    var mask: IntRange? = null
    var isUnmasked = false
    var format = Format.NATURAL
    var unit: String? = null
    var label: String? = null
}

/** An enumeration, a mask, flags, constants or a choice. */
internal class RawList(
    val place: Place,
    val word: String,
    val name: String,
    val special: String?,
    val documentation: String?,
) {
    val entries = mutableListOf<RawEntry>()
}

internal class RawEntry(
    val place: Place,
    val name: String,
    val value: Long,
    val label: String?,
)

/** The words of one line, to be taken one after the other. */
internal class Words(
    val place: Place,
    private val words: List<String>,
) {
    private var next = 0
    val isEmpty: Boolean get() = next == words.size

    fun peek(): String? = words.getOrNull(next)

    fun take(expected: String): String =
        peek()?.also { next++ } ?: place.fail("the line ends where $expected is expected")

    fun takeIf(word: String): Boolean = (peek() == word).also { if (it) next++ }

    fun name(expected: String): String =
        take(expected).also {
            if (!NAME.matches(it)) {
                place.fail(
                    "\"${it.short()}\" is no name for $expected: use letters, digits and _, a letter first, at most 80",
                )
            }
        }

    fun quoted(expected: String): String {
        val word = take("$expected in quotes")
        if (!word.startsWith('"')) place.fail("write $expected in quotes, not ${word.short()}")
        return word.substring(1, word.length - 1)
    }

    fun number(
        expected: String,
        range: LongRange = 0L..0xffffffffL,
    ): Long = number(take(expected), expected, range)

    fun number(
        text: String,
        expected: String,
        range: LongRange,
    ): Long {
        val number = if (text.startsWith("0x")) text.drop(2).toLongOrNull(16) else text.toLongOrNull()
        if (number == null || number !in range) {
            place.fail("\"${text.short()}\" is not $expected: give a number from ${range.first} to ${range.last}")
        }
        return number
    }

    /** A number, or two with a minus between them. */
    fun range(
        text: String,
        expected: String,
        limit: Long,
    ): IntRange {
        val ends = text.split('-').map { number(it, expected, 0..limit).toInt() }
        if (ends.size > 2 || ends.last() < ends.first()) place.fail("\"${text.short()}\" is no range: write it as 3-7")
        return ends.first()..ends.last()
    }

    fun end() {
        peek()?.let { place.fail("\"${it.short()}\" is not understood here; end the line before it") }
    }

    companion object {
        private val NAME = Regex("[A-Za-z][A-Za-z0-9_]{0,79}")

        fun String.short(): String = if (length > 40) take(40) + "..." else this
    }
}
