package org.kverbs.management.simulation

import org.kverbs.structures.StructureType

private const val SELECTION = "counterSelect"

/** Counters of an attribute by its descriptions: bit n of the selection is the n-th counter behind it. */
internal class SimpleCounters(
    types: List<StructureType<*>>,
) {
    private class Place(
        val bit: Int,
        val width: Int,
    )

    /** What all attributes of this kind have in common: the selection of counters. */
    private val selection = types.first().description.field(SELECTION).let { Place(it.offset, it.width) }
    private val counters = types.flatMap(::places).distinctBy { it.bit }.sortedBy { it.bit }
    val size: Int = types.maxOf { it.byteSize }

    private fun places(type: StructureType<*>) =
        type.fields
            .dropWhile { it.name != SELECTION }
            .drop(1)
            .filter { !it.name.startsWith("reserved") }
            .flatMap { field -> List(field.count) { Place(field.offset + it * field.width, field.width) } }

    /** The counters that a request selects: bit n is the n-th. */
    fun selected(
        mad: ByteArray,
        at: Int,
    ): Long = read(mad, at, selection)

    fun reset(
        image: ByteArray,
        mask: Long,
    ) = counters.forEachIndexed { index, counter -> if (mask ushr index and 1 != 0L) write(image, 0, counter, 0) }

    fun clear(
        mad: ByteArray,
        at: Int,
    ) = counters.forEach { write(mad, at, it, 0) }

    /** Adds an image to the counters of an answer. They stop at their highest value. */
    fun add(
        image: ByteArray,
        mad: ByteArray,
        at: Int,
    ) = counters.forEach { counter ->
        val sum = read(image, 0, counter) + read(mad, at, counter)
        write(mad, at, counter, minOf(sum, (1L shl counter.width) - 1))
    }

    private fun read(
        bytes: ByteArray,
        at: Int,
        place: Place,
    ): Long {
        var value = 0L
        for (bit in place.bit until place.bit + place.width) {
            value = value shl 1 or (Wire.u8(bytes, at + bit / 8) shr (7 - bit % 8) and 1).toLong()
        }
        return value
    }

    private fun write(
        bytes: ByteArray,
        at: Int,
        place: Place,
        value: Long,
    ) {
        for (index in 0 until place.width) {
            val bit = place.bit + index
            val mask = 0x80 shr bit % 8
            val isSet = value shr (place.width - 1 - index) and 1L != 0L
            val old = Wire.u8(bytes, at + bit / 8)
            Wire.put8(bytes, at + bit / 8, if (isSet) old or mask else old and mask.inv())
        }
    }
}
