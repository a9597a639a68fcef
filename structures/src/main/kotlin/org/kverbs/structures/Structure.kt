package org.kverbs.structures

import org.kverbs.attributes.Gid
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE

/**
 * A view of a structure in memory. A field is read from the memory when it is asked for, and written when it is
 * assigned. Reading a number, an enumeration, a [Lid] or a [Guid] allocates nothing. The memory is not copied: what
 * others write to it is seen here.
 *
 * All numbers are big-endian. Writing a field changes no other bit, so reserved bits stay as they came.
 *
 * Threads: as the memory. Two threads must not write fields that share a byte.
 *
 * Programs get views from the [StructureType] of the structure, such as `NodeInfo.at(segment)`.
 */
public abstract class Structure protected constructor(
    private val view: View,
) {
    /** What is known of the structure. */
    public val description: StructureDescription get() = structureType.description

    /** The type of the structure. */
    public abstract val structureType: StructureType<*>

    /** The memory of the structure. Writes to it are writes to the structure. */
    public val memory: MemorySegment get() = view.memory.asSlice(view.base, structureType.byteSize.toLong())

    /** Returns a copy of the bytes. */
    public fun bytes(): ByteArray = memory.toArray(JAVA_BYTE)

    /**
     * Returns the value of a field by its name: a Long, [NamedNumber], [Lid], [Guid], [Gid], String, ByteArray or
     * Structure, or a List of them. A path leads into nested structures and arrays: `nodeInfo.nodeType`,
     * `entries[3].vl`.
     *
     * @throws NoSuchElementException if there is no such field
     */
    public operator fun get(path: String): Any = Values.get(this, path)

    /**
     * Assigns a field by its name, as [get] finds it. Numbers of any type, text for [Lid], [Guid] and [Gid], and names
     * for enumerations are taken, too.
     *
     * @throws NoSuchElementException if there is no such field
     * @throws IllegalArgumentException if the value does not fit
     */
    public operator fun set(
        path: String,
        value: Any,
    ): Unit = Values.set(this, path, value)

    /** Returns whether [other] is the same kind of structure with the same bytes, reserved ones among them. */
    override fun equals(other: Any?): Boolean =
        other === this ||
            (other is Structure && other.structureType == structureType && other.memory.mismatch(memory) == -1L)

    /** Returns a hash of the bytes. It changes when a field is written. */
    override fun hashCode(): Int = bytes().contentHashCode()

    /** Returns the name and all fields but the reserved ones in one line. */
    override fun toString(): String = Printers.line(this)

    /** The memory at which generated classes read. */
    public class View internal constructor(
        internal val memory: MemorySegment,
        internal val base: Long,
        internal val assigned: Assigned?,
        internal val assignedBase: Int,
    )

    /** Reads up to 64 bits. */
    protected fun long(
        bit: Int,
        width: Int,
    ): Long = Bits.read(view.memory, view.base, bit, width)

    /** Reads up to 32 bits. */
    protected fun int(
        bit: Int,
        width: Int,
    ): Int = Bits.read(view.memory, view.base, bit, width).toInt()

    /** Reads one bit. */
    protected fun flag(bit: Int): Boolean =
        view.memory.get(JAVA_BYTE, view.base + (bit shr 3)).toInt() shr (7 - (bit and 7)) and 1 != 0

    /** Reads a global identifier. */
    protected fun gid(bit: Int): Gid = Gid(long(bit, Long.SIZE_BITS), long(bit + Long.SIZE_BITS, Long.SIZE_BITS))

    /** Reads bytes. */
    protected fun byteArray(
        bit: Int,
        width: Int,
    ): ByteArray = view.memory.asSlice(view.base + bit / 8, width / 8L).toArray(JAVA_BYTE)

    /** Reads text, up to the first NUL byte. */
    protected fun text(
        bit: Int,
        width: Int,
    ): String {
        val bytes = byteArray(bit, width)
        val end = bytes.indexOf(0)
        return String(bytes, 0, if (end < 0) bytes.size else end)
    }

    /** Writes a number that must fit into [width] bits. */
    protected fun put(
        bit: Int,
        width: Int,
        value: Long,
    ) {
        require(width == Long.SIZE_BITS || value ushr width == 0L) {
            val name = description.fields.firstOrNull { bit >= it.offset && bit < it.offset + it.bits }?.name
            "$value does not fit into the $width bits of $name; give 0 to ${(1L shl width) - 1}"
        }
        Bits.write(view.memory, view.base, bit, width, value)
        view.assigned?.add(view.assignedBase + bit, width)
    }

    /** Writes a global identifier. */
    protected fun put(
        bit: Int,
        value: Gid,
    ) {
        put(bit, Long.SIZE_BITS, value.subnetPrefix())
        put(bit + Long.SIZE_BITS, Long.SIZE_BITS, value.interfaceId())
    }

    /** Writes bytes, and zeros behind them up to the field's end. */
    protected fun put(
        bit: Int,
        width: Int,
        value: ByteArray,
    ) {
        require(value.size <= width / 8) { "${value.size} bytes are too many for a field of ${width / 8}" }
        val place = view.memory.asSlice(view.base + bit / 8, width / 8L)
        place.fill(0).copyFrom(MemorySegment.ofArray(value))
        view.assigned?.add(view.assignedBase + bit, width)
    }

    /** Writes text, and zeros behind it up to the field's end. */
    protected fun put(
        bit: Int,
        width: Int,
        value: String,
    ): Unit = put(bit, width, value.encodeToByteArray())

    /** A view of a structure that begins at [bit] of this one. */
    protected fun part(bit: Int): View = View(view.memory, view.base + bit / 8, view.assigned, view.assignedBase + bit)

    /** The array of numbers of up to 31 bits at [bit]. */
    protected fun ints(
        bit: Int,
        width: Int,
        count: Int,
    ): IntElements = IntElements(this, bit, width, count)

    /** The array of numbers of up to 64 bits at [bit]. */
    protected fun longs(
        bit: Int,
        width: Int,
        count: Int,
    ): LongElements = LongElements(this, bit, width, count)

    /** The array of local identifiers at [bit]. */
    protected fun lids(
        bit: Int,
        count: Int,
    ): Elements<Lid> = Elements(this, bit, Short.SIZE_BITS, count, readLid, writeLid)

    /** The array of globally unique identifiers at [bit]. */
    protected fun guids(
        bit: Int,
        count: Int,
    ): Elements<Guid> = Elements(this, bit, Long.SIZE_BITS, count, readGuid, writeGuid)

    /** The array of global identifiers at [bit]. */
    protected fun gids(
        bit: Int,
        count: Int,
    ): Elements<Gid> = Elements(this, bit, 2 * Long.SIZE_BITS, count, readGid, writeGid)

    /** The array of texts at [bit]. */
    protected fun texts(
        bit: Int,
        width: Int,
        count: Int,
    ): Elements<String> = Elements(this, bit, width, count, readText, writeText)

    /** The array of byte arrays at [bit]. */
    protected fun byteArrays(
        bit: Int,
        width: Int,
        count: Int,
    ): Elements<ByteArray> = Elements(this, bit, width, count, readBytes, writeBytes)

    /** The array of enumerations at [bit]. */
    protected fun <T : Coded> named(
        bit: Int,
        width: Int,
        count: Int,
        of: (Int) -> T,
    ): Elements<T> =
        Elements(
            this,
            bit,
            width,
            count,
            { from, at, bits -> of(from.readLong(at, bits).toInt()) },
            { to, at, bits, value -> to.write(at, bits, value.code) },
        )

    /** The array of structures at [bit]. */
    protected fun <S : Structure> structures(
        bit: Int,
        type: StructureType<S>,
        count: Int,
    ): StructureElements<S> = StructureElements(this, bit, type, count)

    internal fun readLong(
        bit: Int,
        width: Int,
    ): Long = long(bit, width)

    internal fun readGid(bit: Int): Gid = gid(bit)

    internal fun readBytes(
        bit: Int,
        width: Int,
    ): ByteArray = byteArray(bit, width)

    internal fun readText(
        bit: Int,
        width: Int,
    ): String = text(bit, width)

    internal fun partAt(bit: Int): View = part(bit)

    internal fun write(
        bit: Int,
        width: Int,
        value: Long,
    ): Unit = put(bit, width, value)

    internal fun write(
        bit: Int,
        width: Int,
        value: ByteArray,
    ): Unit = put(bit, width, value)
}

/** Returns a copy in memory of its own, with the changes of [change]. */
@Suppress("UNCHECKED_CAST")
public fun <S : Structure> S.copy(change: S.() -> Unit = {}): S =
    (structureType as StructureType<S>).of(bytes()).apply(change)

/**
 * Returns the structure with a line for each 32-bit word: offset, hexadecimal digits, and the fields that begin there.
 */
public fun Structure.dump(): String = Printers.dump(this)

/** Returns a line for each field in the form of infiniband-diags: `NumPorts:........................36`. */
public fun Structure.dotted(): String = Printers.dotted(this)
