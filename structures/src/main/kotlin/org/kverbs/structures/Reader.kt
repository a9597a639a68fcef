package org.kverbs.structures

import org.kverbs.structures.Words.Companion.short

private const val LONGEST_TEXT = 4_000_000
private const val LONGEST_LINE = 500
private const val MOST_STRUCTURES = 10_000
private const val MOST_FIELDS = 4_096
private const val MOST_ATTRIBUTES = 10_000
private const val LONGEST_DOCUMENTATION = 20_000
internal const val MOST_BITS = 65_536
internal const val MOST_ELEMENTS = 4_096

private val lists = setOf("enumeration", "mask", "flags", "constants", "choice")

/** Reads the lines of descriptions. Each statement is one line; what belongs to a structure stands in braces. */
internal class Reader(
    private val texts: Map<String, String>,
) {
    private val structures = mutableListOf<RawStructure>()
    private val enumerations = mutableListOf<RawList>()
    private var structure: RawStructure? = null
    private var list: RawList? = null
    private var documentation: String? = null
    private var attributes = 0

    fun read(): Raw {
        for ((source, text) in texts) read(source, text)
        return Raw(structures, enumerations)
    }

    private fun read(
        source: String,
        text: String,
    ) {
        if (text.length > LONGEST_TEXT) {
            Place(
                source,
                1,
            ).fail("the text has ${text.length} characters, more than $LONGEST_TEXT; split it into files")
        }
        var number = 0
        for (line in text.lineSequence()) {
            val place = Place(source, ++number)
            if (line.length > LONGEST_LINE) place.fail("the line is longer than $LONGEST_LINE characters; break it")
            val words = Words(place, split(place, line))
            if (!words.isEmpty) {
                statement(words)
                documentation = null
            }
        }
        val open = structure?.place to structure?.name
        val (place, name) = if (open.first != null) open else list?.place to list?.name
        place?.fail("$name has no end: close its brace with } on a line of its own")
    }

    /** The words of a line. A comment begins with #; one that begins with ## documents what follows. */
    private fun split(
        place: Place,
        line: String,
    ): List<String> {
        val words = mutableListOf<String>()
        var at = 0
        while (at < line.length) {
            val character = line[at]
            when {
                character == '#' -> {
                    if (words.isEmpty() && line.startsWith("##", at)) {
                        val said = line.substring(at + 2).trim()
                        documentation = documentation?.let { "$it $said" } ?: said
                        if (documentation.orEmpty().length > LONGEST_DOCUMENTATION) {
                            place.fail("the documentation has more than $LONGEST_DOCUMENTATION characters; shorten it")
                        }
                    }
                    return words
                }

                character.isWhitespace() -> {
                    at++
                }

                character == '"' -> {
                    val end = line.indexOf('"', at + 1)
                    if (end < 0) place.fail("a quotation mark is not closed; write \"text\" on one line")
                    words += line.substring(at, end + 1)
                    at = end + 1
                }

                else -> {
                    if (character.isISOControl()) place.fail("the text has control characters; is it a description?")
                    var end = at
                    while (end < line.length && !line[end].isWhitespace() && line[end] != '#' && line[end] != '"') end++
                    words += line.substring(at, end)
                    at = end
                }
            }
        }
        return words
    }

    private fun statement(words: Words) {
        val open = structure
        val entries = list
        when {
            words.takeIf("}") -> {
                if (open == null && entries == null) words.place.fail("} closes nothing; remove it")
                structure = null
                list = null
                words.end()
            }

            open != null && words.takeIf("attribute") -> {
                if (attributes++ == MOST_ATTRIBUTES) words.place.fail("more than $MOST_ATTRIBUTES attributes")
                open.attributes += attribute(words, open)
            }

            open != null -> {
                if (open.fields.size == MOST_FIELDS) words.place.fail("${open.name} has more than $MOST_FIELDS fields")
                open.fields += field(words, open.fields.count { it.type == "reserved" })
            }

            entries != null -> {
                if (entries.entries.size ==
                    MOST_FIELDS
                ) {
                    words.place.fail("${entries.name} has more than $MOST_FIELDS names")
                }
                entries.entries += entry(words, entries)
            }

            else -> {
                declaration(words)
            }
        }
    }

    private fun declaration(words: Words) {
        val word = words.take("structure or enumeration")
        if (structures.size + enumerations.size ==
            MOST_STRUCTURES
        ) {
            words.place.fail("more than $MOST_STRUCTURES declarations")
        }
        when (word) {
            "structure" -> {
                structure = structure(words).also { structures += it }
            }

            in lists -> {
                list =
                    RawList(
                        words.place,
                        word,
                        words.name("the $word"),
                        if (words.takeIf("special")) words.name("the special values") else null,
                        documentation,
                    ).also { enumerations += it }
            }

            else -> {
                words.place.fail(
                    "\"${word.short()}\" begins no declaration; write structure, ${lists.joinToString()} or a " +
                        "comment behind #",
                )
            }
        }
        if (words.takeIf("{")) {
            if (words.takeIf("}")) {
                structure = null
                list = null
            }
        } else {
            words.place.fail("the line ends without a brace; write { behind the name")
        }
        words.end()
    }

    private fun structure(words: Words): RawStructure {
        val name = words.name("the structure")
        val bits =
            words.peek()?.takeIf { it[0].isDigit() }?.let {
                words
                    .number(
                        "the number of bits",
                        0L..MOST_BITS,
                    ).toInt()
            }
        val (classes, version) = classes(words) ?: (emptyList<IntRange>() to 0)
        val isPublished = !words.takeIf("unpublished")
        return RawStructure(words.place, name, bits, classes, version, isPublished, documentation)
    }

    private fun classes(words: Words): Pair<List<IntRange>, Int>? {
        if (!words.takeIf("of")) return null
        val classes = words.take("the management classes").split(',').map { words.range(it, "a management class", 255) }
        if (!words.takeIf("version")) words.place.fail("say the version of the classes: of 0x03 version 2")
        return classes to words.number("the class version", 0L..255L).toInt()
    }

    private fun attribute(
        words: Words,
        structure: RawStructure,
    ): Attribute {
        val id = words.number("the attribute's number", 0L..0xffffL).toInt()
        val (classes, version) = classes(words) ?: (structure.classes to structure.classVersion)
        if (!words.takeIf("methods")) words.place.fail("say the methods of the attribute: methods Get,Set")
        val methods =
            words.take("the methods").split(',').map { name ->
                RequestMethod.entries.firstOrNull { it.text == name } ?: words.place.fail(
                    "\"${name.short()}\" is no method; the methods are ${RequestMethod.entries.joinToString {
                        it.text
                    }}",
                )
            }
        val modifier = if (words.takeIf("modifier")) words.quoted("what the modifier means") else null
        words.end()
        return Attribute(id, classes.flatten().distinct(), version, methods.toSet(), modifier)
    }

    private fun field(
        words: Words,
        reserved: Int,
    ): RawField {
        val at = words.peek()?.takeIf { it.startsWith('@') }
        val offset = at?.let { words.number(words.take("the offset").drop(1), "an offset", 0L..MOST_BITS).toInt() }
        val type = words.take("the field's type")
        val width = if (':' in type) words.number(type.substringAfter(':'), "a width", 1L..MOST_BITS).toInt() else null
        val isNameless = words.isEmpty && type.startsWith("reserved:")
        val named = if (isNameless) "reserved$reserved" else words.take("the field's name")
        val name = Words(words.place, listOf(named.substringBefore('['))).name("the field")
        val count =
            if (named.endsWith(']')) {
                val text = named.substringAfter('[').removeSuffix("]")
                words.number(text, "a number of elements", 1L..MOST_ELEMENTS).toInt()
            } else {
                if ('[' in named) words.place.fail("close the bracket behind the number of elements: $name[8]")
                1
            }
        val field =
            RawField(words.place, offset, type.substringBefore(':'), width, name, count, Options(), documentation)
        while (!words.isEmpty) option(words, field.options)
        return field
    }

    private fun option(
        words: Words,
        options: Options,
    ) {
        val word = words.take("an option")
        when {
            word == "mask" -> {
                options.mask = words.range(words.take("the bits of the mask"), "a bit of the mask", 63)
            }

            word == "unmasked" -> {
                options.isUnmasked = true
            }

            word == "unit" -> {
                options.unit = words.quoted("the unit")
            }

            word.startsWith('"') -> {
                options.label = word.substring(1, word.length - 1)
            }

            word == "as" -> {
                val format = words.take("the format")
                options.format = Format.entries.firstOrNull { it.word == format } ?: words.place.fail(
                    "\"${format.short()}\" is no format; the formats are ${Format.entries.joinToString { it.word }}",
                )
            }

            else -> {
                words.place.fail(
                    "\"${word.short()}\" is not understood here; a field's name is followed by mask, unmasked, " +
                        "as, unit or a label in quotes",
                )
            }
        }
    }

    private fun entry(
        words: Words,
        list: RawList,
    ): RawEntry {
        val limit = if (list.word == "flags") 0L..31L else 0L..0xffffffffL
        val isChoice = list.word == "choice"
        val number = if (isChoice) words.number("a case's number", limit) else null
        val name = words.name("the value")
        val value = number ?: words.number("a value", limit)
        val label = if (!isChoice && !words.isEmpty) words.quoted("the label") else null
        words.end()
        return RawEntry(words.place, name, value, label)
    }
}
