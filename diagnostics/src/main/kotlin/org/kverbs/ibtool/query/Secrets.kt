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
    private val line = Regex("^(${names.joinToString("|")}|cc_key|m_key)(:\\.*).*", RegexOption.IGNORE_CASE)

    /** Whether the structure has such a key. */
    fun has(structure: StructureDescription): Boolean =
        structure.fields.any { field -> field.name in names || field.structure?.let(::has) == true }

    /** A line of a structure without the value of a key. */
    fun hidden(text: String): String = text.replace(line, "$1$2<not displayed>")

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
    fun without(json: JsonElement): JsonElement =
        when (json) {
            is JsonObject -> JsonObject(json.filterKeys { it !in names }.mapValues { without(it.value) })
            is JsonArray -> JsonArray(json.map(::without))
            else -> json
        }
}
