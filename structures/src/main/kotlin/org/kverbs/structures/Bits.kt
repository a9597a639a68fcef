package org.kverbs.structures

import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED
import java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED
import java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED
import java.nio.ByteOrder.BIG_ENDIAN

private val SHORT = JAVA_SHORT_UNALIGNED.withOrder(BIG_ENDIAN)
private val INT = JAVA_INT_UNALIGNED.withOrder(BIG_ENDIAN)
private val LONG = JAVA_LONG_UNALIGNED.withOrder(BIG_ENDIAN)

/** Bit fields of big-endian memory: bit 0 is the most significant bit of the byte at `base`. Nothing allocates. */
internal object Bits {
    /** Reads [width] bits, 1 to 64, from [bit] on, as the low bits of a number. */
    fun read(
        memory: MemorySegment,
        base: Long,
        bit: Int,
        width: Int,
    ): Long {
        val at = base + (bit shr 3)
        if (bit and 7 == 0) {
            when (width) {
                8 -> return memory.get(JAVA_BYTE, at).toLong() and 0xff
                16 -> return memory.get(SHORT, at).toLong() and 0xffff
                32 -> return memory.get(INT, at).toLong() and 0xffffffffL
                64 -> return memory.get(LONG, at)
            }
        }
        var result = 0L
        var position = bit
        val end = bit + width
        while (position < end) {
            val within = position and 7
            val taken = minOf(8 - within, end - position)
            val byte = memory.get(JAVA_BYTE, base + (position shr 3)).toInt() and 0xff
            result = result shl taken or ((byte shr (8 - within - taken)) and ((1 shl taken) - 1)).toLong()
            position += taken
        }
        return result
    }

    /** Writes the low [width] bits of [value] from [bit] on, and leaves all other bits as they are. */
    fun write(
        memory: MemorySegment,
        base: Long,
        bit: Int,
        width: Int,
        value: Long,
    ) {
        val at = base + (bit shr 3)
        if (bit and 7 == 0) {
            when (width) {
                8 -> return memory.set(JAVA_BYTE, at, value.toByte())
                16 -> return memory.set(SHORT, at, value.toShort())
                32 -> return memory.set(INT, at, value.toInt())
                64 -> return memory.set(LONG, at, value)
            }
        }
        var position = bit
        val end = bit + width
        while (position < end) {
            val within = position and 7
            val taken = minOf(8 - within, end - position)
            val shift = 8 - within - taken
            val mask = ((1 shl taken) - 1) shl shift
            val part = ((value ushr (end - position - taken)).toInt() shl shift) and mask
            val index = base + (position shr 3)
            val kept = memory.get(JAVA_BYTE, index).toInt() and mask.inv()
            memory.set(JAVA_BYTE, index, (kept or part).toByte())
            position += taken
        }
    }
}
