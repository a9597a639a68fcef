package org.kverbs.structures

import org.kverbs.attributes.Gid
import java.util.HexFormat

private const val WORD = 32
private const val DOTTED_COLUMN = 33

/** The texts of structures. */
internal object Printers {
    private class Leaf(
        val bit: Int,
        val text: String,
        val isFiller: Boolean,
    )

    fun line(structure: Structure): String =
        structure.description.fields.filter { !it.isReserved }.joinToString(
            ", ",
            structure.description.name + "(",
            ")",
        ) {
            "${it.name}=${Values.text(Values.get(structure, it.name))}"
        }

    fun dump(structure: Structure): String {
        val leaves = mutableListOf<Leaf>()
        val introductions = mutableListOf<Leaf>()
        collect(structure, structure.description, 0, "", leaves, introductions)
        val bytes = structure.bytes()
        val words = (bytes.size * Byte.SIZE_BITS + WORD - 1) / WORD
        val last =
            (0 until words).lastOrNull { word ->
                bytes.asList().subList(4 * word, minOf(4 * word + 4, bytes.size)).any { it != 0.toByte() } ||
                    leaves.any { it.bit / WORD == word && !it.isFiller }
            } ?: 0
        val byWord = leaves.groupBy { it.bit / WORD }
        val introduced = introductions.groupBy { it.bit / WORD }
        return buildString {
            append(structure.description.name).append('\n')
            for (word in 0..minOf(last, words - 1)) {
                introduced[word]?.forEach { append("     + ").append(it.text).append('\n') }
                append((4 * word).toString().padStart(4)).append(' ')
                append(HexFormat.of().formatHex(bytes, 4 * word, minOf(4 * word + 4, bytes.size)))
                byWord[word]?.forEach { append(' ').append(it.text) }
                append('\n')
            }
        }
    }

    private fun collect(
        structure: Structure,
        description: StructureDescription,
        base: Int,
        prefix: String,
        leaves: MutableList<Leaf>,
        introductions: MutableList<Leaf>,
    ) {
        for (field in description.fields) {
            val first = base + field.offset
            for (index in 0 until field.count) {
                val bit = first + index * field.width
                val name = prefix + field.name + if (field.isArray) "[$index]" else ""
                val nested = field.structure
                if (nested != null) {
                    introductions += Leaf(bit, "$name: ${nested.name}", false)
                    collect(structure, nested, bit, "", leaves, introductions)
                    continue
                }
                val isZero = structure.memory.isZero(bit, field.width)
                if (field.isReserved && isZero) continue
                val value = Values.element(structure, field, first, index)
                val text = if (field.kind == FieldKind.BYTES) "(${field.width / 8} bytes)" else Values.text(value)
                leaves += Leaf(bit, "$name=$text", isZero && (index > 0 || field.isReserved))
            }
        }
    }

    private fun java.lang.foreign.MemorySegment.isZero(
        bit: Int,
        width: Int,
    ): Boolean =
        (bit until bit + width step Long.SIZE_BITS).all {
            Bits.read(this, 0, it, minOf(Long.SIZE_BITS, bit + width - it)) == 0L
        }

    fun dotted(structure: Structure): String = buildString { dotted(structure, structure.description, 0, null, this) }

    /** [outer] is the label of the field that the structure stands in, if it is all of what the structure has. */
    private fun dotted(
        structure: Structure,
        description: StructureDescription,
        base: Int,
        outer: String?,
        out: StringBuilder,
    ) {
        for (field in description.fields.filter { !it.isReserved }) {
            val first = base + field.offset
            val given = outer ?: field.label
            val label = given ?: field.name.replaceFirstChar { it.uppercase() }
            val nested = field.structure
            when {
                nested != null && !(field.isArray && given != null) -> {
                    val isAll = nested.fields.count { !it.isReserved } == 1
                    repeat(field.count) {
                        dotted(structure, nested, first + it * field.width, given.takeIf { isAll }, out)
                    }
                }

                field.isArray && ("%d" in label || given == null) -> {
                    repeat(field.count) { i ->
                        val name = if ("%d" in label) label.replace("%d", "$i") else "$label$i"
                        out.row(name, value(field, Values.element(structure, field, first, i), field.width))
                    }
                }

                field.isArray && field.bits <= Long.SIZE_BITS -> {
                    out.row(label, number(field, structure.readLong(first, field.bits), field.bits, null))
                }

                field.isArray -> {
                    out.row(label, structure.readBytes(first, field.bits).toHexString())
                }

                else -> {
                    out.row(label, value(field, Values.element(structure, field, first, 0), field.width))
                }
            }
        }
    }

    private fun StringBuilder.row(
        label: String,
        value: String,
    ) {
        append("$label:".padEnd(DOTTED_COLUMN, '.')).append(value).append('\n')
    }

    private fun value(
        field: Field,
        value: Any,
        width: Int,
    ): String =
        when (value) {
            is NamedNumber -> number(field, value.number, width, value.enumeration)
            is Long -> number(field, value, width, null)
            is Lid -> number(field, value.value.toLong(), width, null)
            is Guid -> (if (field.format == Format.DIGITS) "" else "0x") + HexFormat.of().toHexDigits(value.value)
            is Gid -> value.toWire()
            is ByteArray -> value.toHexString()
            is String -> Values.quoted(value, '\'')
            else -> value.toString()
        }

    private fun number(
        field: Field,
        number: Long,
        width: Int,
        enumeration: EnumerationDescription?,
    ): String =
        when (field.format) {
            Format.HEX -> {
                "0x" + digits(number, width)
            }

            Format.DIGITS -> {
                digits(number, width)
            }

            Format.LINES -> {
                lines(number, checkNotNull(enumeration))
            }

            Format.ALTERNATIVES -> {
                alternatives(number, checkNotNull(enumeration))
            }

            Format.NATURAL -> {
                if (enumeration?.hasLabels ==
                    true
                ) {
                    labelled(number, enumeration)
                } else {
                    number.toULong().toString()
                }
            }

            Format.DECIMAL -> {
                number.toULong().toString()
            }
        }

    private fun digits(
        number: Long,
        width: Int,
    ) = HexFormat.of().toHexDigits(number, (width + 7) / 8 * 2)

    private fun labelled(
        number: Long,
        names: EnumerationDescription,
    ): String {
        val unknown = if (names.form == EnumerationForm.VALUE) "?($number)" else "undefined ($number)"
        return names.labelOf(number) ?: unknown
    }

    private fun lines(
        number: Long,
        names: EnumerationDescription,
    ): String =
        "0x" + java.lang.Long.toHexString(number) + "\n" +
            names.entries.filter { it.value and number != 0L }.joinToString("") { "\t\t\t\t${it.label ?: it.name}\n" }

    private fun alternatives(
        number: Long,
        names: EnumerationDescription,
    ): String {
        names.special?.labelOf(number)?.takeIf { number != 0L }?.let { return it }
        val known = names.entries.filter { it.value and number != 0L }
        val rest = known.fold(number) { bits, entry -> bits and entry.value.inv() }
        val texts = known.map { it.label ?: it.name }
        return (if (rest != 0L || number == 0L) texts + "undefined ($number)" else texts).joinToString(" or ")
    }
}
