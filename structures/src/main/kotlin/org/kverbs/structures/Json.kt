package org.kverbs.structures

import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import org.kverbs.attributes.Gid

/**
 * Returns the fields as a JSON object. Numbers of up to 53 bits are numbers, longer ones and bytes are hexadecimal
 * text,
 * named values are their names, and sets of bits are lists of names. Reserved fields are there if they are not zero, so
 * that [fromJson] makes the same bytes.
 */
public fun Structure.toJson(): JsonObject = JsonFields.write(this)

/**
 * Makes a structure of what [toJson] made. Fields that are not named are zero.
 *
 * @throws IllegalArgumentException if [text] is no JSON object, or names a field that is not there, or has a value that
 * does not fit
 */
public fun <S : Structure> StructureType<S>.fromJson(text: String): S =
    fromJson(
        JsonDepth.parsed(text) as? JsonObject
            ?: throw IllegalArgumentException("$name is a JSON object in braces"),
    )

/**
 * Makes a structure of what [toJson] made. Fields that are not named are zero.
 *
 * @throws IllegalArgumentException if [json] names a field that is not there, or has a value that does not fit
 */
public fun <S : Structure> StructureType<S>.fromJson(json: JsonObject): S = this().also { JsonFields.read(it, json) }

private const val SAFE_BITS = 53

private object JsonFields {
    fun write(structure: Structure): JsonObject =
        JsonObject(
            structure.description.fields
                .filter { !it.isReserved || !isZero(structure[it.name]) }
                .associate { it.name to write(it, structure[it.name]) },
        )

    private fun isZero(value: Any): Boolean =
        when (value) {
            is Long -> value == 0L
            is ByteArray -> value.all { it == 0.toByte() }
            is List<*> -> value.all { isZero(checkNotNull(it)) }
            else -> false
        }

    private fun write(
        field: Field,
        value: Any,
    ): JsonElement =
        when (value) {
            is List<*> -> JsonArray(value.map { write(field, checkNotNull(it)) })
            is NamedNumber -> named(value)
            is Long -> if (field.width > SAFE_BITS) JsonPrimitive("0x" + value.toHexString()) else JsonPrimitive(value)
            is Lid -> JsonPrimitive(value.value)
            is ByteArray -> JsonPrimitive(value.toHexString())
            is Gid -> JsonPrimitive(value.toCompactString())
            is Structure -> write(value)
            else -> JsonPrimitive(value.toString())
        }

    private fun named(value: NamedNumber): JsonElement {
        val names = value.enumeration
        names.entry(value.number)?.takeIf { names.form == EnumerationForm.VALUE }?.let { return JsonPrimitive(it.name) }
        if (names.form == EnumerationForm.VALUE) return JsonPrimitive(value.number)
        val known = names.entries.filter { it.value and value.number != 0L }
        val rest = known.fold(value.number) { bits, entry -> bits and entry.value.inv() }
        return JsonArray(
            known.map { JsonPrimitive(it.name) } + listOfNotNull(JsonPrimitive(rest).takeIf { rest != 0L }),
        )
    }

    fun read(
        structure: Structure,
        json: JsonObject,
    ) {
        for ((name, value) in json) {
            val field =
                structure.description.fields.firstOrNull { it.name == name }
                    ?: throw IllegalArgumentException("${structure.description.name} has no field ${name.take(80)}")
            val isSet = field.enumeration?.form?.let { it != EnumerationForm.VALUE } == true
            if (field.isArray) {
                require(
                    value is JsonArray && value.size <= field.count,
                ) { "$name is a list of up to ${field.count} elements" }
                value.forEachIndexed { i, one -> read(structure, "$name[$i]", field, one, isSet) }
            } else {
                read(structure, name, field, value, isSet)
            }
        }
    }

    private fun read(
        structure: Structure,
        path: String,
        field: Field,
        value: JsonElement,
        isSet: Boolean,
    ) {
        when {
            field.kind == FieldKind.STRUCTURE && value is JsonObject -> {
                read(structure[path] as Structure, value)
            }

            isSet && value is JsonArray -> {
                structure[path] = value.fold(0L) { bits, one -> bits or set(field, path, one) }
            }

            value is JsonPrimitive -> {
                val text = value.content
                structure[path] = if (field.kind == FieldKind.BYTES) hex(path, text) else text
            }

            else -> {
                throw IllegalArgumentException("$path is $field; it can't be ${"$value".take(80)}")
            }
        }
    }

    private fun set(
        field: Field,
        path: String,
        one: JsonElement,
    ): Long {
        val text = (one as? JsonPrimitive)?.content.orEmpty()
        return field.enumeration?.entry(text)?.value ?: text.toLongOrNull()
            ?: throw IllegalArgumentException("$path has no bit ${text.take(80)}")
    }

    private fun hex(
        path: String,
        text: String,
    ): ByteArray =
        runCatching { text.hexToByteArray() }.getOrElse {
            throw IllegalArgumentException("$path is bytes: give two hexadecimal digits for each", it)
        }
}
