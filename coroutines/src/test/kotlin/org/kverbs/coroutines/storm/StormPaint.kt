package org.kverbs.coroutines.storm

import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED

private const val PLACE = 0x61c8864680b583ebL

/**
 * Paints memory with the number of an operation: each 8 bytes say whose they are and where in the paint they belong, so
 * that a stray byte shows, and who left it.
 */
object StormPaint {
    /** Paints all of [memory], whose length is a multiple of 8. */
    fun put(
        memory: MemorySegment,
        owner: Long,
    ) {
        for (i in 0 until memory.byteSize() / 8) memory.set(JAVA_LONG_UNALIGNED, i * 8, owner xor i * PLACE)
    }

    /** Whose paint begins here. */
    fun owner(memory: MemorySegment): Long = memory.get(JAVA_LONG_UNALIGNED, 0)

    /** What is wrong with the paint of [owner] between two places, multiples of 8; null if nothing is. */
    fun flaw(
        memory: MemorySegment,
        owner: Long,
        from: Long = 0,
        to: Long = memory.byteSize(),
    ): String? {
        for (at in from until to step 8) {
            val found = memory.get(JAVA_LONG_UNALIGNED, at) xor at / 8 * PLACE
            if (found != owner) {
                return "byte $at of ${memory.byteSize()} is paint of ${StormId(
                    found,
                )} in memory of ${StormId(owner)}"
            }
        }
        return null
    }
}

/** The number of an operation: who does it, and its how manieth it is. */
@JvmInline
value class StormId(
    val number: Long,
) {
    constructor(worker: Int, count: Int) : this(worker.toLong() shl 32 or count.toLong())

    override fun toString(): String = "worker ${number ushr 32} operation ${number.toInt()}"
}
