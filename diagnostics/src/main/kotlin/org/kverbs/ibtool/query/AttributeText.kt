package org.kverbs.ibtool.query

import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import org.kverbs.structures.Field
import org.kverbs.structures.StructureDescription

private const val NAME_COLUMN = 34
private const val BITS_COLUMN = 8

/** What attributes there are, and what fields they have, as text and as JSON. */
internal object AttributeText {
    fun list(all: List<StructureDescription>): String =
        all.joinToString("") { structure ->
            structure.attributes.joinToString("") { attribute ->
                val modifier =
                    attribute.modifier
                        ?.takeIf { it != "0" && it != "-" }
                        ?.let { "; modifier: $it" }
                        .orEmpty()
                "${structure.name.padEnd(NAME_COLUMN)} $attribute$modifier\n"
            }
        }

    fun listJson(all: List<StructureDescription>): JsonElement =
        JsonArray(
            all.flatMap { structure ->
                structure.attributes.map { attribute ->
                    JsonObject(
                        mapOf(
                            "name" to JsonPrimitive(structure.name),
                            "id" to JsonPrimitive(attribute.id),
                            "classes" to JsonArray(attribute.classes.map { JsonPrimitive(it) }),
                            "classVersion" to JsonPrimitive(attribute.classVersion),
                            "methods" to JsonArray(attribute.methods.map { JsonPrimitive(it.text) }),
                            "modifier" to JsonPrimitive(attribute.modifier),
                        ),
                    )
                }
            },
        )

    /** The fields, those of nested structures with the names that assign them. */
    fun fields(structure: StructureDescription): String =
        leaves(structure).joinToString("") { (name, field) ->
            "${name.padEnd(NAME_COLUMN)} ${"${field.width}".padStart(BITS_COLUMN)} bits  ${kind(field)}\n"
        }

    fun fieldsJson(structure: StructureDescription): JsonElement =
        JsonArray(
            leaves(structure).map { (name, field) ->
                JsonObject(
                    mapOf(
                        "name" to JsonPrimitive(name),
                        "bits" to JsonPrimitive(field.width),
                        "count" to JsonPrimitive(field.count),
                        "kind" to JsonPrimitive(kind(field)),
                    ),
                )
            },
        )

    private fun kind(field: Field): String {
        val name = field.enumeration?.name ?: field.kind.name.lowercase()
        return if (field.isArray) "$name, ${field.count} times" else name
    }

    private fun leaves(
        structure: StructureDescription,
        prefix: String = "",
    ): List<Pair<String, Field>> =
        structure.fields.filter { !it.isReserved }.flatMap { field ->
            val nested = field.structure
            val name = prefix + field.name
            if (nested == null) listOf(name to field) else leaves(nested, "$name${if (field.isArray) "[N]" else ""}.")
        }
}
