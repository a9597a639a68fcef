package org.kverbs.structures

/** How the values of an enumeration are meant. */
public enum class EnumerationForm {
    /** One of the values. */
    VALUE,

    /** Any of the bits, each given as a number with one bit. */
    MASK,

    /** Any of the bits, each given by its number; 0 is the least significant one. */
    FLAGS,
}

/**
 * One name of an enumeration.
 *
 * @property name the name
 * @property value the number as it is in memory; of flags the bit itself, not its number
 * @property label the text that infiniband-diags prints, or null
 */
public class EnumerationEntry internal constructor(
    public val name: String,
    public val value: Long,
    public val label: String?,
)

/**
 * The names of numbers.
 *
 * @property name the name
 * @property form how the values are meant
 * @property entries the names in the order of the description
 */
public class EnumerationDescription internal constructor(
    public val name: String,
    public val form: EnumerationForm,
    public val entries: List<EnumerationEntry>,
    special: EnumerationDescription?,
    internal val documentation: String?,
) {
    /** The names of numbers that are no set of bits, such as "all that are supported"; null if there are none. */
    public val special: EnumerationDescription? = special
    private val byValue = entries.associateBy { it.value }
    internal val hasLabels: Boolean = entries.any { it.label != null }

    internal fun labelOf(value: Long): String? = byValue[value]?.label ?: special?.labelOf(value)

    /** Returns the name of exactly this number, or null. */
    public fun entry(value: Long): EnumerationEntry? = special?.entry(value) ?: byValue[value]

    /** Returns the entry with this name, or null. */
    public fun entry(name: String): EnumerationEntry? = entries.firstOrNull { it.name == name } ?: special?.entry(name)

    /**
     * Returns the names with their numbers: `ACTIVE(4)`; for a mask `W1X(1)|W4X(2)`. Bits and numbers without a name
     * are kept: `LinkWidth??(64)`.
     */
    public fun text(value: Long): String {
        entry(value)?.let { return "${it.name}(${value.toULong()})" }
        if (form == EnumerationForm.VALUE) return "$name??(${value.toULong()})"
        if (value == 0L) return "NONE(0)"
        val known = entries.filter { it.value and value != 0L }
        val rest = known.fold(value) { bits, entry -> bits and entry.value.inv() }
        val names = known.map { "${it.name}(${it.value.toULong()})" }
        return (if (rest == 0L) names else names + "$name??(${rest.toULong()})").joinToString("|")
    }
}

/** A number with a name, as the generated enumerations are. */
public interface Coded {
    /** The number as it is in memory. */
    public val value: Int

    /** The number as an unsigned one. */
    public val code: Long get() = value.toLong() and 0xffffffffL
}

/** The companion of a generated enumeration: its names. */
public abstract class EnumerationType protected constructor(
    /** The name of the enumeration. */
    public val name: String,
    descriptions: () -> Descriptions,
) {
    /** The names and what is known of them. */
    public val description: EnumerationDescription by lazy { descriptions().enumeration(name) }

    /** Returns the name of [value], as [EnumerationDescription.text] does. */
    protected fun textOf(value: Int): String = description.text(value.toLong() and 0xffffffffL)
}

/**
 * A number of a field whose enumeration is known by its description alone, as of a structure declared at run time.
 *
 * @property enumeration the names
 * @property number the number as it is in memory
 */
public class NamedNumber internal constructor(
    public val enumeration: EnumerationDescription,
    public val number: Long,
) {
    /** Returns whether [other] is the same number with the same names. */
    override fun equals(other: Any?): Boolean =
        other is NamedNumber && other.number == number && other.enumeration.name == enumeration.name

    /** Returns a hash of the number. */
    override fun hashCode(): Int = number.hashCode()

    /** Returns the name and the number, such as `ACTIVE(4)`. */
    override fun toString(): String = enumeration.text(number)
}
