package org.kverbs.structures.generator

import org.kverbs.structures.Field
import org.kverbs.structures.FieldKind
import org.kverbs.structures.StructureDescription

/** The Kotlin class of one structure. */
internal class StructureWriter(
    private val structure: StructureDescription,
) {
    fun text(): String {
        val name = structure.name
        val methods = structure.attributes.flatMap { it.methods }.distinct().sorted()
        val markers = methods.joinToString("") { ", Takes${it.text}" }
        val type = if (structure.components.isEmpty()) "StructureType" else "RecordType"
        val fields = structure.fields.filter { !it.isReserved }.joinToString("") { "\n" + property(it) }
        return "/**\n * ${documentation(structure.documentation, "The structure `$name`.")}\n *\n${facts()} */\n" +
            "public class $name private constructor(view: View) : Structure(view)$markers {\n" +
            "    override val structureType: $type<$name> get() = Companion\n$fields\n" +
            "    /** Makes views and new structures. */\n" +
            "    public companion object : $type<$name>(\"$name\", ${structure.byteSize}, { described }, ::$name)\n}\n"
    }

    private fun facts(): String {
        val attributes =
            structure.attributes.map {
                " * Attribute $it" +
                    (it.modifier?.let { text -> "; modifier: ${documentation(text, "")}" } ?: "") +
                    ".\n"
            }
        return (listOf(" * ${structure.byteSize} bytes.\n") + attributes).joinToString(" *\n")
    }

    private fun property(field: Field): String {
        val name = escaped(field.name)
        val place = "${field.offset}, ${field.width}"
        val enumeration = field.enumeration?.name
        val nested = field.structure?.name
        if (field.isArray) {
            return comment(field) + "    public val $name: " + array(field, place, enumeration, nested) + "\n"
        }
        val (type, get, set) =
            when (field.kind) {
                FieldKind.UINT -> number(field, place, enumeration)
                FieldKind.LID -> Triple("Lid", "Lid(int($place))", "put($place, value.value.toLong())")
                FieldKind.GUID -> Triple("Guid", "Guid(long($place))", "put($place, value.value)")
                FieldKind.GID -> Triple("Gid", "gid(${field.offset})", "put(${field.offset}, value)")
                FieldKind.BYTES -> Triple("ByteArray", "byteArray($place)", "put($place, value)")
                FieldKind.STRING -> Triple("String", "text($place)", "put($place, value)")
                FieldKind.STRUCTURE -> return comment(field) + nested(field, name, checkNotNull(nested))
            }
        return comment(field) + "    public var $name: $type\n        get() = $get\n        set(value) = $set\n"
    }

    private fun number(
        field: Field,
        place: String,
        enumeration: String?,
    ): Triple<String, String, String> =
        when {
            enumeration != null -> Triple(enumeration, "$enumeration.of(int($place))", "put($place, value.code)")
            field.width == 1 -> Triple("Boolean", "flag(${field.offset})", "put($place, if (value) 1L else 0L)")
            field.width < Int.SIZE_BITS -> Triple("Int", "int($place)", "put($place, value.toLong())")
            else -> Triple("Long", "long($place)", "put($place, value)")
        }

    private fun nested(
        field: Field,
        name: String,
        type: String,
    ): String {
        val view = "${field.name}View"
        return "    public var $name: $type\n" +
            "        get() = $view ?: $type.part(part(${field.offset})).also { $view = it }\n" +
            "        set(value) = put(${field.offset}, ${field.width}, value.bytes())\n" +
            "    private var $view: $type? = null\n"
    }

    private fun array(
        field: Field,
        place: String,
        enumeration: String?,
        nested: String?,
    ): String {
        val count = field.count
        val isShort = field.width < Int.SIZE_BITS
        return when {
            enumeration != null -> "Elements<$enumeration> get() = named($place, $count) { $enumeration.of(it) }"
            nested != null -> "StructureElements<$nested> get() = structures(${field.offset}, $nested, $count)"
            field.kind == FieldKind.UINT && isShort -> "IntElements get() = ints($place, $count)"
            field.kind == FieldKind.UINT -> "LongElements get() = longs($place, $count)"
            field.kind == FieldKind.LID -> "Elements<Lid> get() = lids(${field.offset}, $count)"
            field.kind == FieldKind.GUID -> "Elements<Guid> get() = guids(${field.offset}, $count)"
            field.kind == FieldKind.GID -> "Elements<Gid> get() = gids(${field.offset}, $count)"
            field.kind == FieldKind.STRING -> "Elements<String> get() = texts($place, $count)"
            else -> "Elements<ByteArray> get() = byteArrays($place, $count)"
        }
    }

    private fun comment(field: Field): String {
        val last = field.offset + field.bits - 1
        val bits = if (field.bits == 1) "Bit ${field.offset}" else "Bits ${field.offset} to $last"
        val elements = if (field.isArray) ", ${field.count} elements of ${field.width} bits" else ""
        val unit = field.unit?.let { ", in units of ${documentation(it, "")}" }.orEmpty()
        val wide = if (field.kind == FieldKind.UINT && field.width == Long.SIZE_BITS) "; unsigned" else ""
        val mask =
            field.maskBits
                ?.let {
                    if (it.first ==
                        it.last
                    ) {
                        "; mask bit ${it.first}"
                    } else {
                        "; mask bits ${it.first} to ${it.last}"
                    }
                }.orEmpty()
        return "    /** ${documentation(
            field.documentation,
            "The field `${field.name}`.",
        )} $bits$elements$unit$wide$mask. */\n"
    }
}
