package org.kverbs.structures

import java.lang.foreign.MemorySegment

/**
 * The companion of a structure's class: makes views and new structures, and tells about the structure.
 *
 * ```
 * val node = NodeInfo.at(mad, 64)
 * val answer = NodeInfo { nodeType = NodeType.SWITCH; numPorts = 36 }
 * ```
 */
public abstract class StructureType<S : Structure> protected constructor(
    /** The name of the structure. */
    public val name: String,
    /** The length in bytes. */
    public val byteSize: Int,
    descriptions: () -> Descriptions,
    private val make: (Structure.View) -> S,
) {
    /** What is known of the structure. */
    public val description: StructureDescription by lazy { descriptions().structure(name) }

    /** All fields, reserved ones among them. */
    public val fields: List<Field> get() = description.fields

    /** Where the structure is an attribute: number, classes, versions, methods. */
    public val attributes: List<Attribute> get() = description.attributes

    /** The attribute's number, or null if the structure is none, or has several. */
    public val attributeId: Int? get() = attributes.map { it.id }.distinct().singleOrNull()

    /** All methods that a requester sends with the attribute. */
    public val methods: Set<RequestMethod> get() = attributes.flatMap { it.methods }.toSet()

    /**
     * Returns a view of [segment] from byte [offset] on. The segment need not be aligned.
     *
     * @throws IllegalArgumentException if the segment ends before the structure does
     */
    public fun at(
        segment: MemorySegment,
        offset: Long = 0,
    ): S {
        require(offset >= 0 && segment.byteSize() - offset >= byteSize) {
            "$name has $byteSize bytes; from byte $offset on there are ${maxOf(0, segment.byteSize() - offset)}"
        }
        return part(Structure.View(segment, offset, null, 0))
    }

    /**
     * Returns a view of [bytes] from [offset] on: writes to one are writes to the other.
     *
     * @throws IllegalArgumentException if the array ends before the structure does
     */
    public fun at(
        bytes: ByteArray,
        offset: Int = 0,
    ): S = at(MemorySegment.ofArray(bytes), offset.toLong())

    /** Returns a structure over a copy of [bytes], which must be as many as the structure has. */
    public fun of(bytes: ByteArray): S {
        require(bytes.size == byteSize) { "$name has $byteSize bytes, not ${bytes.size}" }
        return at(bytes.copyOf())
    }

    /** Makes a structure in memory of its own, of zeros and what [assign] writes. */
    public operator fun invoke(assign: S.() -> Unit = {}): S = at(ByteArray(byteSize)).apply(assign)

    /** The view of a part of another structure. For generated classes. */
    public open fun part(view: Structure.View): S = make(view)

    internal fun assigned(assign: S.() -> Unit): Query<S> {
        val written = Assigned(byteSize * Byte.SIZE_BITS)
        val segment = MemorySegment.ofArray(ByteArray(byteSize))
        val record = part(Structure.View(segment, 0, written, 0)).apply(assign)
        return Query(part(Structure.View(segment, 0, null, 0)), written.mask(record.description.components))
    }

    /** Returns the name of the structure. */
    override fun toString(): String = name
}

/** The companion of a record of the subnet administrator, which queries look for. */
public abstract class RecordType<S : Structure> protected constructor(
    name: String,
    byteSize: Int,
    descriptions: () -> Descriptions,
    view: (Structure.View) -> S,
) : StructureType<S>(name, byteSize, descriptions, view) {
    /** The parts of the record and their bits in the component mask. */
    public val components: List<Component> get() = description.components

    /**
     * Makes a query: the answer must match what [assign] writes, and nothing else. What is assigned sets its bit in the
     * component mask, even if it is zero.
     */
    public fun query(assign: S.() -> Unit): Query<S> = assigned(assign)
}

private val typeOfClass =
    object : ClassValue<StructureType<*>>() {
        override fun computeValue(type: Class<*>): StructureType<*> =
            runCatching { type.getField("Companion").get(null) as StructureType<*> }.getOrElse {
                throw IllegalArgumentException(
                    "${type.name} has no companion that is its type; give the type itself",
                    it,
                )
            }
    }

/**
 * Returns the companion of a generated class.
 *
 * @throws IllegalArgumentException if [type] was not generated from a description
 */
@Suppress("UNCHECKED_CAST")
public fun <S : Structure> structureTypeOf(type: Class<S>): StructureType<S> = typeOfClass.get(type) as StructureType<S>

/** Returns the companion of a generated class: `structureTypeOf<NodeInfo>()` is `NodeInfo`. */
public inline fun <reified S : Structure> structureTypeOf(): StructureType<S> = structureTypeOf(S::class.java)
