package org.kverbs.coroutines.storm

import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED

private const val PLACE = 0x61c8864680b583ebL

/**
 * Paints memory with the number of an operation: each 8 bytes contain their owner and their place in the paint, so that
 * a stray byte shows, and its owner.
 */
object StormPaint {
    /** Paints all of [memory], whose length is a multiple of 8. */
    fun put(
        memory: MemorySegment,
        owner: Long,
    ) {
        for (i in 0 until memory.byteSize() / 8) memory.set(JAVA_LONG_UNALIGNED, i * 8, owner xor i * PLACE)
    }

    /** Returns the owner of the paint that begins here. */
    fun owner(memory: MemorySegment): Long = memory.get(JAVA_LONG_UNALIGNED, 0)

    /** Describes the fault in the paint of [owner] between two places, multiples of 8; null if there is none. */
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

/** Returns the number of an operation from its worker and the worker's count. */
@JvmInline
value class StormId(
    val number: Long,
) {
    constructor(worker: Int, count: Int) : this(worker.toLong() shl 32 or count.toLong())

    override fun toString(): String = "worker ${number ushr 32} operation ${number.toInt()}"
}
