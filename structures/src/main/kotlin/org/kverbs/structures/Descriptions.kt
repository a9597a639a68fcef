package org.kverbs.structures

/**
 * A description of structures that can't be used. The message begins with the file and the line, and ends with what to
 * write instead.
 */
public class DescriptionException internal constructor(
    /** The file or the name that was given for the text. */
    public val source: String,
    /** The line, from 1. */
    public val line: Int,
    problem: String,
) : IllegalArgumentException("$source:$line: $problem")

/**
 * What is known of one structure.
 *
 * @property name the name
 * @property bits the length, a multiple of 8
 * @property fields all fields without gaps, reserved ones among them, in the order of their bits
 * @property classes the management classes that it belongs to; empty for headers and parts of other structures
 * @property classVersion the version of the classes, or 0
 * @property attributes where it is used as an attribute
 * @property isPublished whether the layout is known; if not, only the attribute's number is
 */
public class StructureDescription internal constructor(
    public val name: String,
    public val bits: Int,
    public val fields: List<Field>,
    public val classes: List<IntRange>,
    public val classVersion: Int,
    public val attributes: List<Attribute>,
    public val isPublished: Boolean,
    internal val documentation: String?,
) {
    /** The length in bytes. */
    public val byteSize: Int get() = bits / 8

    /** The parts of a query's component mask; empty if the structure is no record of the subnet administrator. */
    public val components: List<Component> by lazy { componentsOf(this) }
    internal val dynamicType: RecordType<DynamicStructure> by lazy { DynamicStructure.Type(this) }
    private val byName = fields.associateBy { it.name }

    /**
     * Returns the field with this name.
     *
     * @throws NoSuchElementException if there is none
     */
    public fun field(name: String): Field =
        byName[name] ?: throw NoSuchElementException(
            "${this.name} has no field $name; it has ${fields.filter { !it.isReserved }.joinToString { it.name }}",
        )

    /** Returns the name and the number of bits. */
    override fun toString(): String = "$name, $bits bits"
}

/**
 * A choice of structures by a number, such as the details of a notice by its trap number.
 *
 * @property name the name
 * @property cases the structure for each number
 */
public class ChoiceDescription internal constructor(
    public val name: String,
    public val cases: Map<Long, StructureDescription>,
    internal val documentation: String?,
)

/**
 * Numbers with names that are no enumeration: two can be equal.
 *
 * @property name the name
 * @property values the names and numbers
 */
public class ConstantsDescription internal constructor(
    public val name: String,
    public val values: Map<String, Long>,
    internal val documentation: String?,
)

/**
 * Descriptions of structures and enumerations, read from text. `docs/management.md` shows the language.
 *
 * @property structures the structures in the order of the text
 * @property enumerations the enumerations
 * @property choices the choices of structures
 * @property constants the constants
 */
public class Descriptions internal constructor(
    public val structures: List<StructureDescription>,
    public val enumerations: List<EnumerationDescription>,
    public val choices: List<ChoiceDescription>,
    public val constants: List<ConstantsDescription>,
) {
    private val structureByName = structures.associateBy { it.name }
    private val enumerationByName = enumerations.associateBy { it.name }

    /**
     * Returns the structure with this name.
     *
     * @throws NoSuchElementException if there is none
     */
    public fun structure(name: String): StructureDescription =
        structureByName[name] ?: throw NoSuchElementException("no structure $name is described")

    /**
     * Returns the enumeration with this name.
     *
     * @throws NoSuchElementException if there is none
     */
    public fun enumeration(name: String): EnumerationDescription =
        enumerationByName[name] ?: throw NoSuchElementException("no enumeration $name is described")

    /**
     * Returns the type of a structure, for programs that declare their structures at run time.
     *
     * @throws NoSuchElementException if there is none with this name
     */
    public fun type(name: String): RecordType<DynamicStructure> = structure(name).dynamicType

    /** Returns the descriptions of both; where both have a name, the one of [other]. */
    public operator fun plus(other: Descriptions): Descriptions =
        Descriptions(
            (other.structures + structures).distinctBy { it.name },
            (other.enumerations + enumerations).distinctBy { it.name },
            (other.choices + choices).distinctBy { it.name },
            (other.constants + constants).distinctBy { it.name },
        )

    /** Reads descriptions. */
    public companion object {
        /**
         * Reads descriptions. Nothing but an exception comes of a wrong text.
         *
         * @param text the descriptions
         * @param source the name that errors begin with
         * @throws DescriptionException if the text is no description
         */
        public fun parse(
            text: String,
            source: String = "description",
        ): Descriptions = parse(mapOf(source to text))

        /**
         * Reads descriptions from several texts, whose structures can use each other.
         *
         * @param texts the descriptions by the names that errors begin with
         * @throws DescriptionException if a text is no description
         */
        public fun parse(texts: Map<String, String>): Descriptions = Resolver(Reader(texts).read()).resolve()
    }
}
