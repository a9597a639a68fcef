package org.kverbs.management.simulation

import org.kverbs.structures.StructureType

/** Counters of an attribute by its description: bit n of the selection is the n-th counter behind it. */
internal class SimpleCounters private constructor(
    type: StructureType<*>,
) {
    private class Counter(
        val bit: Int,
        val width: Int,
    )

    private val counters =
        type.fields
            .dropWhile { it.name != "counterSelect" }
            .drop(1)
            .filter { !it.name.startsWith("reserved") }
            .flatMap { field -> List(field.count) { Counter(field.offset + it * field.width, field.width) } }

    fun reset(
        image: ByteArray,
        mask: Int,
    ) = counters.forEachIndexed { index, counter -> if (mask shr index and 1 != 0) write(image, 0, counter, 0) }

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
        counter: Counter,
    ): Long {
        var value = 0L
        for (bit in counter.bit until counter.bit + counter.width) {
            value = value shl 1 or (Wire.u8(bytes, at + bit / 8) shr (7 - bit % 8) and 1).toLong()
        }
        return value
    }

    private fun write(
        bytes: ByteArray,
        at: Int,
        counter: Counter,
        value: Long,
    ) {
        for (index in 0 until counter.width) {
            val bit = counter.bit + index
            val mask = 0x80 shr bit % 8
            val isSet = value shr (counter.width - 1 - index) and 1L != 0L
            val old = Wire.u8(bytes, at + bit / 8)
            Wire.put8(bytes, at + bit / 8, if (isSet) old or mask else old and mask.inv())
        }
    }

    companion object {
        private val made = HashMap<StructureType<*>, SimpleCounters>()

        fun of(type: StructureType<*>): SimpleCounters =
            synchronized(made) { made.getOrPut(type) { SimpleCounters(type) } }
    }
}
