package org.kverbs.structures.generator

import org.kverbs.structures.ChoiceDescription
import org.kverbs.structures.ConstantsDescription
import org.kverbs.structures.Descriptions
import org.kverbs.structures.EnumerationDescription
import org.kverbs.structures.EnumerationForm
import org.kverbs.structures.StructureDescription

private const val LONGEST_LITERAL = 20_000

/** Kotlin for descriptions: a file for each structure and each enumeration, and one with the texts. */
internal class KotlinWriter(
    private val packageName: String,
    private val descriptions: Descriptions,
    private val texts: Map<String, String>,
) {
    fun files(): Map<String, String> =
        buildMap {
            put("Described.kt", described())
            for (structure in descriptions.structures.filter { it.isPublished }) {
                put("${structure.name}.kt", head() + StructureWriter(structure).text())
            }
            for (enumeration in descriptions.enumerations) {
                put(
                    "${enumeration.name}.kt",
                    head() + enumeration(enumeration),
                )
            }
            for (choice in descriptions.choices) put("${choice.name}.kt", head() + choice(choice))
            for (constants in descriptions.constants) put("${constants.name}.kt", head() + constants(constants))
        }

    private fun head() =
        "// Generated from *.iba by kverbs-structures; changes are lost at the next build.\n" +
            "@file:Suppress(\"ktlint\", \"RedundantVisibilityModifier\")\n\n" +
            "package $packageName\n\n" +
            "import org.kverbs.attributes.Gid\nimport org.kverbs.structures.*\n\n"

    private fun described(): String {
        val parts =
            texts.entries.joinToString(",\n") { (name, text) ->
                val chunks = text.chunked(LONGEST_LITERAL).joinToString(" +\n            text(") { literal(it) + ")" }
                "            \"$name\" to text($chunks"
            }
        val types =
            descriptions.structures.filter { it.isPublished }.joinToString("\n") { "        ${it.name}," }
        return head() +
            "private fun text(part: String): String = part\n\n" +
            "/** The descriptions that the classes of this package are made from. */\n" +
            "public val described: Descriptions by lazy {\n    Descriptions.parse(\n" +
            "        mapOf(\n$parts,\n        ),\n" +
            "    )\n}\n\n" +
            "/** The companions of all structures of this package. */\n" +
            "public val structureTypes: List<StructureType<*>> by lazy {\n    listOf(\n$types\n    )\n}\n"
    }

    private fun literal(text: String) =
        "\"" +
            text
                .replace(
                    "\\",
                    "\\\\",
                ).replace("\"", "\\\"")
                .replace("$", "\\$")
                .replace("\n", "\\n")
                .replace("\r", "\\r")
                .replace("\t", "\\t") + "\""

    private fun enumeration(it: EnumerationDescription): String {
        val name = it.name
        val isSet = it.form != EnumerationForm.VALUE
        val kind = if (isSet) "A set of bits" else "A number with names"
        val entries =
            (it.entries + it.special?.entries.orEmpty()).joinToString("\n\n") { entry ->
                val meaning = entry.label?.let { label -> documentation(label, "") + ". " }.orEmpty()
                "        /** $meaning${"Value ${entry.value}."} */\n" +
                    "        public val ${escaped(entry.name)}: $name = $name(${number(entry.value)})"
            }
        val operators =
            if (!isSet) {
                ""
            } else {
                "    /** Returns the bits of both. */\n" +
                    "    public operator fun plus(other: $name): $name = $name(value or other.value)\n\n" +
                    "    /** Returns the bits that [other] has not. */\n" +
                    "    public operator fun minus(other: $name): $name = $name(value and other.value.inv())\n\n" +
                    "    /** Returns whether all bits of [other] are set. */\n" +
                    "    public operator fun contains(other: $name): Boolean = value and other.value == other.value\n\n"
            }
        return "/**\n * ${documentation(
            it.documentation,
            "$kind of the description `$name`.",
        )} Numbers without a name are kept and print as\n" +
            " * `$name??(n)`.\n *\n * @property value the number as it is in memory\n */\n" +
            "@JvmInline\npublic value class $name private constructor(override val value: Int) : Coded {\n$operators" +
            "    /** Returns the name and the number. */\n    override fun toString(): String = text(value)\n\n" +
            "    /** The names. */\n" +
            "    public companion object : EnumerationType(\"$name\", { described }) {\n$entries\n\n" +
            "        /** Returns the number with its name, if it has one. */\n" +
            "        public fun of(value: Int): $name = $name(value)\n\n" +
            "        private fun text(value: Int): String = textOf(value)\n    }\n}\n"
    }

    private fun choice(choice: ChoiceDescription): String {
        val cases =
            choice.cases.entries.joinToString(
                "\n",
            ) { (number, structure) -> "            $number -> ${structure.name}" }
        return "/** ${documentation(choice.documentation, "The structures of the choice `${choice.name}`.")} */\n" +
            "public object ${choice.name} {\n" +
            "    /** Returns the structure for a number, or null if none is known. */\n" +
            "    public fun of(number: Int): StructureType<*>? =\n" +
            "        when (number) {\n$cases\n            else -> null\n        }\n}\n"
    }

    private fun constants(constants: ConstantsDescription): String {
        val values =
            constants.values.entries.joinToString("\n\n") { (name, value) ->
                val number = "0x" + value.toString(16)
                val type = if (value > Int.MAX_VALUE) "Long" else "Int"
                "    /** $number. */\n    public const val $name: $type = $number"
            }
        return "/** ${documentation(
            constants.documentation,
            "Constants of the description `${constants.name}`.",
        )} */\n" +
            "public object ${constants.name} {\n$values\n}\n"
    }

    private fun number(value: Long) = if (value > Int.MAX_VALUE) "0x${value.toString(16)}u.toInt()" else "$value"
}

private val keywords =
    setOf(
        "as",
        "break",
        "class",
        "continue",
        "do",
        "else",
        "false",
        "for",
        "fun",
        "if",
        "in",
        "interface",
        "is",
        "null",
    ) +
        setOf(
            "object",
            "package",
            "return",
            "super",
            "this",
            "throw",
            "true",
            "try",
            "typealias",
            "typeof",
            "val",
            "var",
            "when",
            "while",
        )

/** A name as Kotlin takes it. */
internal fun escaped(name: String): String = if (name in keywords) "`$name`" else name

/** What the description says in `##`, or else [instead]. */
internal fun documentation(
    said: String?,
    instead: String,
): String = (said ?: instead).replace("/*", "/ *").replace("*/", "* /").replace("[", "\\[")
