package org.kverbs.structures

/**
 * A part of a record that a query can ask for, with its bit in the component mask.
 *
 * @property name the field, or the field of a nested structure: `nodeInfo.nodeType`; an element of an array that has a
 * bit for each as `serviceData8[3]`
 * @property bit the bit, 0 is the least significant one
 * @property offset the first bit in the record that the component covers
 * @property width the number of bits that it covers
 */
public class Component internal constructor(
    public val name: String,
    public val bit: Int,
    public val offset: Int,
    public val width: Int,
)

/**
 * The component mask of a query: a bit for each part of the record that the answer must match.
 *
 * @property value the 64 bits as a number
 */
@JvmInline
public value class ComponentMask(
    public val value: Long,
) {
    /** Returns whether the bit is set. */
    public operator fun contains(bit: Int): Boolean = value ushr bit and 1L != 0L

    /** Returns the bits of both. */
    public operator fun plus(other: ComponentMask): ComponentMask = ComponentMask(value or other.value)

    /** Returns the number in hexadecimal, such as `0x14`. */
    override fun toString(): String = "0x" + java.lang.Long.toHexString(value)
}

/**
 * A record with the component mask of the fields that were assigned.
 *
 * @property record what to look for
 * @property mask which parts of it count
 */
public class Query<S : Structure> internal constructor(
    public val record: S,
    public val mask: ComponentMask,
) {
    /** The names of the parts that count. */
    public val components: List<String>
        get() = record.description.components.filter { it.bit in mask }.map { it.name }.distinct()

    /** Returns the parts that count and their values. */
    override fun toString(): String =
        "${record.description.name} where " + components.joinToString { "$it = ${record[it.substringBefore('[')]}" }
}

/** Which bits of a structure were written. */
internal class Assigned(
    bits: Int,
) {
    private val written = java.util.BitSet(bits)

    fun add(
        bit: Int,
        width: Int,
    ) = written.set(bit, bit + width)

    fun mask(components: List<Component>): ComponentMask =
        ComponentMask(
            components.fold(0L) { mask, part ->
                val first = written.nextSetBit(part.offset)
                if (first >= 0 && first < part.offset + part.width) mask or (1L shl part.bit) else mask
            },
        )
}

/** The fields of a nested structure that take bits of a component mask. */
private fun masked(structure: StructureDescription) = structure.fields.filter { !it.isUnmasked && it.name != "padding" }

/** What is wrong with the number of mask bits of a field, or null. */
internal fun componentProblem(field: Field): String? {
    val bits = field.maskBits?.count() ?: return null
    val structure = field.structure
    val possible =
        when {
            structure != null -> setOf(1, masked(structure).size, masked(structure).sumOf { it.count })
            field.isArray -> setOf(1, field.count)
            else -> (1..field.width).filter { field.width % it == 0 }.toSet()
        }
    return if (bits in possible) {
        null
    } else {
        "field ${field.name} can't take $bits bits of the mask; give it ${possible.sorted().take(
            4,
        ).joinToString(" or ")}"
    }
}

/**
 * The rule: a scalar is split evenly over its bits, an array has one bit or one an element, a nested structure alike.
 */
internal fun componentsOf(structure: StructureDescription): List<Component> =
    structure.fields.flatMap { field ->
        val bits = field.maskBits?.toList() ?: return@flatMap emptyList()
        val nested = field.structure
        when {
            nested != null && (bits.size > 1 || masked(nested).size == 1) -> {
                nestedComponents(field, nested, bits)
            }

            field.isArray && bits.size > 1 -> {
                bits.mapIndexed { i, bit ->
                    Component("${field.name}[$i]", bit, field.offset + i * field.width, field.width)
                }
            }

            else -> {
                bits.mapIndexed { i, bit ->
                    Component(field.name, bit, field.offset + i * field.bits / bits.size, field.bits / bits.size)
                }
            }
        }
    }

private fun nestedComponents(
    field: Field,
    nested: StructureDescription,
    bits: List<Int>,
): List<Component> {
    val inner = masked(nested)
    val isEachField = bits.size == inner.size
    val parts =
        inner.flatMap { part ->
            if (isEachField || !part.isArray) {
                listOf(Component("${field.name}.${part.name}", 0, field.offset + part.offset, part.bits))
            } else {
                List(part.count) { i ->
                    val offset = field.offset + part.offset + i * part.width
                    Component("${field.name}.${part.name}[$i]", 0, offset, part.width)
                }
            }
        }
    return parts.zip(bits) { part, bit -> Component(part.name, bit, part.offset, part.width) }
}
