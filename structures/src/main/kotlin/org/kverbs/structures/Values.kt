package org.kverbs.structures

import org.kverbs.attributes.Gid

/** Fields by their descriptions, for the printers, JSON, and programs that name them. */
internal object Values {
    private val step = Regex("([A-Za-z][A-Za-z0-9_]*)(?:\\[(\\d{1,5})])?")

    private class Found(
        val field: Field,
        val base: Int,
        val index: Int?,
    )

    fun get(
        structure: Structure,
        path: String,
    ): Any {
        val found = find(structure, path)
        val field = found.field
        return when {
            found.index != null -> element(structure, field, found.base, found.index)
            field.isArray -> List(field.count) { element(structure, field, found.base, it) }
            else -> element(structure, field, found.base, 0)
        }
    }

    fun set(
        structure: Structure,
        path: String,
        value: Any,
    ) {
        val found = find(structure, path)
        val field = found.field
        if (found.index == null && field.isArray) {
            require(value is List<*> && value.size <= field.count) {
                "$path has ${field.count} elements: assign a list of as many or fewer, or ${field.name}[0]"
            }
            value.forEachIndexed { i, one -> setElement(structure, path, field, found.base + i * field.width, one) }
        } else {
            setElement(structure, path, field, found.base + (found.index ?: 0) * field.width, value)
        }
    }

    private fun find(
        structure: Structure,
        path: String,
    ): Found {
        var description = structure.description
        var base = 0
        val steps = path.split('.')
        for ((i, text) in steps.withIndex()) {
            val match =
                step.matchEntire(text) ?: throw NoSuchElementException("\"$path\" is no path; write field[3].field")
            val field = description.field(match.groupValues[1])
            val index = match.groupValues[2].toIntOrNull()
            if (index != null && (index >= field.count || !field.isArray)) {
                throw NoSuchElementException("${field.name} of ${description.name} has no element $index")
            }
            if (i == steps.lastIndex) return Found(field, base + field.offset, index)
            description =
                field.structure ?: throw NoSuchElementException("${field.name} of ${description.name} has no fields")
            base += field.offset + (index ?: 0) * field.width
        }
        error("a path has a step")
    }

    /** The element [index] of a field whose first element is at bit [base]. */
    fun element(
        structure: Structure,
        field: Field,
        base: Int,
        index: Int,
    ): Any {
        val bit = base + index * field.width
        return when (field.kind) {
            FieldKind.UINT -> {
                val number = structure.readLong(bit, field.width)
                field.enumeration?.let { NamedNumber(it, number) } ?: number
            }

            FieldKind.LID -> {
                Lid(structure.readLong(bit, field.width).toInt())
            }

            FieldKind.GUID -> {
                Guid(structure.readLong(bit, field.width))
            }

            FieldKind.GID -> {
                structure.readGid(bit)
            }

            FieldKind.BYTES -> {
                structure.readBytes(bit, field.width)
            }

            FieldKind.STRING -> {
                structure.readText(bit, field.width)
            }

            FieldKind.STRUCTURE -> {
                checkNotNull(field.structure).dynamicType.part(structure.partAt(bit))
            }
        }
    }

    private fun setElement(
        structure: Structure,
        path: String,
        field: Field,
        bit: Int,
        value: Any?,
    ) {
        val bytes =
            when (field.kind) {
                FieldKind.UINT, FieldKind.LID, FieldKind.GUID -> {
                    structure.write(bit, field.width, number(field, value) ?: refuse(path, field, value))
                    return
                }

                FieldKind.GID -> {
                    (if (value is String) Gid.parse(value) else value as? Gid)?.bytes()
                }

                FieldKind.BYTES -> {
                    value as? ByteArray
                }

                FieldKind.STRING -> {
                    (value as? String)?.encodeToByteArray()
                }

                FieldKind.STRUCTURE -> {
                    (value as? Structure)?.takeIf { it.description.name == field.structure?.name }?.bytes()
                }
            }
        structure.write(bit, field.width, bytes ?: refuse(path, field, value))
    }

    private fun refuse(
        path: String,
        field: Field,
        value: Any?,
    ): Nothing = throw IllegalArgumentException("$path is $field; it can't be ${"$value".take(80)}")

    private fun number(
        field: Field,
        value: Any?,
    ): Long? =
        when (value) {
            is Coded -> value.code
            is NamedNumber -> value.number
            is Lid -> value.value.toLong()
            is Guid -> value.value
            is Boolean -> if (value) 1 else 0
            is UByte -> value.toLong()
            is UShort -> value.toLong()
            is UInt -> value.toLong()
            is ULong -> value.toLong()
            is Byte, is Short, is Int, is Long -> (value as Number).toLong()
            is String -> fromText(field, value)
            else -> null
        }

    private fun fromText(
        field: Field,
        text: String,
    ): Long? =
        field.enumeration?.entry(text)?.value
            ?: when (field.kind) {
                FieldKind.LID -> {
                    Lid.parse(text).value.toLong()
                }

                FieldKind.GUID -> {
                    Guid.parse(text).value
                }

                else -> {
                    if (text.startsWith(
                            "0x",
                        )
                    ) {
                        text.drop(2).toULongOrNull(16)?.toLong()
                    } else {
                        text.toULongOrNull()?.toLong()
                    }
                }
            }

    /** Text of nodes, which anybody can set, without what acts on a terminal, breaks the line or turns its order. */
    fun quoted(
        text: String,
        quote: Char,
    ): String =
        text
            .map { if (it == quote || it.category in acting) "\\u" + it.code.toString(16).padStart(4, '0') else "$it" }
            .joinToString("", "$quote", "$quote")

    private val acting =
        setOf(
            CharCategory.CONTROL,
            CharCategory.FORMAT,
            CharCategory.LINE_SEPARATOR,
            CharCategory.PARAGRAPH_SEPARATOR,
        )

    /** A value as one-line text. */
    fun text(value: Any): String =
        when (value) {
            is Long -> {
                value.toULong().toString()
            }

            is ByteArray -> {
                value.toHexString()
            }

            is Gid -> {
                value.toCompactString()
            }

            is String -> {
                quoted(value, '"')
            }

            is List<*> -> {
                value.joinToString(", ", "[", "]") { text(checkNotNull(it)) }
            }

            else -> {
                value.toString()
            }
        }
}
