package org.kverbs.structures

import org.kverbs.attributes.Gid

/**
 * An array of numbers of up to 31 bits in a structure. Reading and writing one element allocates nothing.
 *
 * @property size the number of elements
 */
public class IntElements internal constructor(
    private val structure: Structure,
    private val bit: Int,
    private val width: Int,
    public val size: Int,
) {
    /** Reads an element. */
    public operator fun get(index: Int): Int = structure.readLong(bit + checked(index, size) * width, width).toInt()

    /** Writes an element. */
    public operator fun set(
        index: Int,
        value: Int,
    ): Unit = structure.write(bit + checked(index, size) * width, width, value.toLong())

    /** Returns a copy of the elements. */
    public fun toList(): List<Int> = List(size) { this[it] }

    /** Writes elements from the first one on. */
    public fun assign(values: Iterable<Int>): Unit = values.forEachIndexed { i, value -> this[i] = value }

    /** Returns the elements as text. */
    override fun toString(): String = toList().toString()
}

/**
 * An array of numbers of 32 to 64 bits in a structure. Reading and writing one element allocates nothing.
 *
 * @property size the number of elements
 */
public class LongElements internal constructor(
    private val structure: Structure,
    private val bit: Int,
    private val width: Int,
    public val size: Int,
) {
    /** Reads an element; 64 bits are one Long. */
    public operator fun get(index: Int): Long = structure.readLong(bit + checked(index, size) * width, width)

    /** Writes an element. */
    public operator fun set(
        index: Int,
        value: Long,
    ): Unit = structure.write(bit + checked(index, size) * width, width, value)

    /** Returns a copy of the elements. */
    public fun toList(): List<Long> = List(size) { this[it] }

    /** Writes elements from the first one on. */
    public fun assign(values: Iterable<Long>): Unit = values.forEachIndexed { i, value -> this[i] = value }

    /** Returns the elements as text. */
    override fun toString(): String = toList().toString()
}

/**
 * An array of other values in a structure: enumerations, identifiers, bytes, text.
 *
 * @property size the number of elements
 */
public class Elements<T : Any> internal constructor(
    private val structure: Structure,
    private val bit: Int,
    private val width: Int,
    public val size: Int,
    private val read: (Structure, Int, Int) -> T,
    private val write: (Structure, Int, Int, T) -> Unit,
) {
    /** Reads an element. */
    public operator fun get(index: Int): T = read(structure, bit + checked(index, size) * width, width)

    /** Writes an element. */
    public operator fun set(
        index: Int,
        value: T,
    ): Unit = write(structure, bit + checked(index, size) * width, width, value)

    /** Returns a copy of the elements. */
    public fun toList(): List<T> = List(size) { this[it] }

    /** Writes elements from the first one on. */
    public fun assign(values: Iterable<T>): Unit = values.forEachIndexed { i, value -> this[i] = value }

    /** Returns the elements as text. */
    override fun toString(): String = toList().toString()
}

/**
 * An array of structures in a structure.
 *
 * @property size the number of elements
 */
public class StructureElements<S : Structure> internal constructor(
    private val structure: Structure,
    private val bit: Int,
    private val type: StructureType<S>,
    public val size: Int,
) {
    /** Returns a view of an element. */
    public operator fun get(index: Int): S =
        type.part(
            structure.partAt(bit + checked(index, size) * type.byteSize * Byte.SIZE_BITS),
        )

    /** Copies the bytes of [value] into an element. */
    public operator fun set(
        index: Int,
        value: S,
    ): Unit =
        structure.write(
            bit + checked(index, size) * type.byteSize * Byte.SIZE_BITS,
            type.byteSize * Byte.SIZE_BITS,
            value.bytes(),
        )

    /** Returns views of all elements. */
    public fun toList(): List<S> = List(size) { this[it] }

    /** Copies elements from the first one on. */
    public fun assign(values: Iterable<S>): Unit = values.forEachIndexed { i, value -> this[i] = value }

    /** Returns the elements as text. */
    override fun toString(): String = toList().toString()
}

private fun checked(
    index: Int,
    size: Int,
): Int = if (index in 0 until size) index else throw IndexOutOfBoundsException("element $index of an array of $size")

internal val readLid = { from: Structure, bit: Int, width: Int -> Lid(from.readLong(bit, width).toInt()) }
internal val writeLid = {
    to: Structure,
    bit: Int,
    width: Int,
    value: Lid,
    ->
    to.write(bit, width, value.value.toLong())
}
internal val readGuid = { from: Structure, bit: Int, width: Int -> Guid(from.readLong(bit, width)) }
internal val writeGuid = { to: Structure, bit: Int, width: Int, value: Guid -> to.write(bit, width, value.value) }
internal val readGid = { from: Structure, bit: Int, _: Int -> from.readGid(bit) }
internal val writeGid = { to: Structure, bit: Int, width: Int, value: Gid -> to.write(bit, width, value.bytes()) }
internal val readText = { from: Structure, bit: Int, width: Int -> from.readText(bit, width) }
internal val writeText = {
    to: Structure,
    bit: Int,
    width: Int,
    value: String,
    ->
    to.write(bit, width, value.encodeToByteArray())
}
internal val readBytes = { from: Structure, bit: Int, width: Int -> from.readBytes(bit, width) }
internal val writeBytes = { to: Structure, bit: Int, width: Int, value: ByteArray -> to.write(bit, width, value) }
