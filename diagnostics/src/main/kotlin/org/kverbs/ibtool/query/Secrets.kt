package org.kverbs.ibtool.query

import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureDescription
import org.kverbs.structures.copy

/** The keys that protect nodes, which commands show only with `-K`. */
internal object Secrets {
    private val names = setOf("mKey", "bKey", "ccKey", "smKey", "serviceKey")
    private val shownBySaquery = setOf("smKey", "serviceKey")
    private const val SUBSCRIBER = "qpn"
    private const val HIDDEN = "<not displayed>"

    /** Whether the structure has such a key. */
    fun has(structure: StructureDescription): Boolean =
        structure.fields.any { field -> field.name in names || field.structure?.let(::has) == true }

    /** The text of a structure, one line for each field, without the values of keys. */
    fun hidden(
        text: String,
        structure: StructureDescription,
    ): String {
        val labels = labels(structure, null)
        return text.lines().joinToString("\n") { line ->
            val label = line.substringBefore(':')
            val dots = line.removePrefix("$label:").takeWhile { it == '.' }
            if (label in labels) "$label:$dots$HIDDEN" else line
        }
    }

    /** The labels of the keys. A field [outer] gives its label to the only field of its structure. */
    private fun labels(
        structure: StructureDescription,
        outer: String?,
    ): List<String> =
        structure.fields.flatMap { field ->
            val given = outer ?: field.label
            val nested = field.structure
            when {
                nested != null -> labels(nested, given.takeIf { nested.fields.count { !it.isReserved } == 1 })
                field.name in names -> listOf(given ?: field.name.replaceFirstChar { it.uppercase() })
                else -> emptyList()
            }
        }

    /** A copy whose keys are zero. */
    fun without(structure: Structure): Structure = structure.copy { clear(this, description, 0) }

    private fun clear(
        structure: Structure,
        description: StructureDescription,
        base: Int,
    ) {
        for (field in description.fields) {
            val at = base + field.offset
            field.structure?.let { nested -> repeat(field.count) { clear(structure, nested, at + it * field.width) } }
            if (field.name in names) structure.memory.asSlice(at / 8L, field.bits / 8L).fill(0)
        }
    }

    /** JSON without the keys. */
    fun without(json: JsonElement): JsonElement = without(json, names)

    /** JSON of records without what the text of `saquery` hides: it hides queue pairs, but shows some of the keys. */
    fun withoutHiddenBySaquery(json: JsonElement): JsonElement = without(json, names - shownBySaquery + SUBSCRIBER)

    private fun without(
        json: JsonElement,
        hidden: Set<String>,
    ): JsonElement =
        when (json) {
            is JsonObject -> JsonObject(json.filterKeys { it !in hidden }.mapValues { without(it.value, hidden) })
            is JsonArray -> JsonArray(json.map { without(it, hidden) })
            else -> json
        }
}
