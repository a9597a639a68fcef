package org.kverbs.structures

/** What the bits of a field are. */
public enum class FieldKind {
    /** An unsigned number of 1 to 64 bits. */
    UINT,

    /** A local identifier, 16 bits. */
    LID,

    /** A globally unique identifier, 64 bits. */
    GUID,

    /** A global identifier, 128 bits. */
    GID,

    /** Bytes without a meaning of their own. */
    BYTES,

    /** UTF-8 of a fixed length, padded by NUL bytes; without one if the text fills the field. */
    STRING,

    /** Another structure. */
    STRUCTURE,
}

/** How the dotted printer shows a number. */
public enum class Format(
    internal val word: String,
) {
    /** As the name of its value, if the field has an enumeration; else decimal. */
    NATURAL("natural"),

    /** Decimal. */
    DECIMAL("decimal"),

    /** Hexadecimal with `0x`, all digits. */
    HEX("hex"),

    /** Hexadecimal without `0x`, all digits. */
    DIGITS("digits"),

    /** The names of the bits that are set, one after the other with `or` between them. */
    ALTERNATIVES("alternatives"),

    /** The number, and a line for each bit that is set. */
    LINES("lines"),
}

/**
 * One field of a structure, for programs that look at structures.
 *
 * @property name the name, such as `numPorts`
 * @property kind what the bits are
 * @property offset the first bit, counted from the structure's start; bit 0 is the most significant bit of byte 0
 * @property width the bits of one element
 * @property count the number of elements, 1 if the field is no array; they are packed, element 0 first
 * @property isReserved whether the bits have no meaning; they are kept as they came
 * @property enumeration the names of the values, or null
 * @property structure the structure that is nested here, or null
 * @property label the name that infiniband-diags prints, `%d` standing for an element's index, or null
 * @property format how the dotted printer shows the number
 * @property unit the unit of the number, or null
 * @property maskBits the bits of a query's component mask that belong to the field, or null
 */
public class Field internal constructor(
    public val name: String,
    public val kind: FieldKind,
    public val offset: Int,
    public val width: Int,
    public val count: Int,
    public val isReserved: Boolean,
    public val enumeration: EnumerationDescription?,
    public val structure: StructureDescription?,
    public val label: String?,
    public val format: Format,
    public val unit: String?,
    public val maskBits: IntRange?,
    internal val isUnmasked: Boolean,
    internal val documentation: String?,
) {
    /** The bits of all elements. */
    public val bits: Int get() = width * count

    /** Whether the field is an array. */
    public val isArray: Boolean get() = count > 1

    /** Returns what the description says, such as `numPorts: uint, bits 24 to 31`. */
    override fun toString(): String {
        val kindName = enumeration?.name ?: structure?.name ?: kind.name.lowercase()
        val elements = if (isArray) ", $count elements of $width bits" else ""
        return "$name: $kindName, bits $offset to ${offset + bits - 1}$elements"
    }
}

/**
 * Where an attribute is used: its number in a management class, and the methods that a requester sends with it.
 *
 * @property id the attribute's number
 * @property classes the management classes
 * @property classVersion the version of the classes
 * @property methods the methods
 * @property modifier what the attribute modifier means, or null
 */
public class Attribute internal constructor(
    public val id: Int,
    public val classes: List<Int>,
    public val classVersion: Int,
    public val methods: Set<RequestMethod>,
    public val modifier: String?,
) {
    /** Returns the number, the classes and the methods, such as `0x0011 of 0x01, 0x81 version 1: Get`. */
    override fun toString(): String =
        "0x${hex(id, 4)} of ${classes.joinToString { "0x" + hex(it, 2) }} version $classVersion: " +
            methods.joinToString { it.text }

    private fun hex(
        number: Int,
        digits: Int,
    ) = number.toString(16).padStart(digits, '0')
}
