package org.kverbs.cli.pingpong

import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import kotlin.random.Random

/** Makes the expected contents of messages of [size] bytes. A result is valid until the next call. */
internal class Patterns(
    size: Int,
) {
    private val noise = MemorySegment.ofArray(Random(SEED).nextBytes(size + SHIFTS))
    private val made = MemorySegment.ofArray(ByteArray(size))

    /** Differs from iteration to iteration; 0 at the start of each page, which a C server with -c looks for. */
    fun of(iteration: Int): MemorySegment {
        made.copyFrom(noise.asSlice((iteration % SHIFTS).toLong(), made.byteSize()))
        return withPageStarts { 0 }
    }

    /** A C client's first message: only with -c it begins its pages with 0. */
    fun firstOfC(incoming: MemorySegment): MemorySegment {
        made.fill(C_FILL)
        return withPageStarts { if (incoming.get(JAVA_BYTE, it) == 0.toByte()) 0 else C_FILL }
    }

    private inline fun withPageStarts(value: (Long) -> Byte): MemorySegment {
        for (start in 0..<made.byteSize() step PAGE) made.set(JAVA_BYTE, start, value(start))
        return made
    }

    companion object {
        /** The byte with which the C programs fill their buffer. */
        const val C_FILL: Byte = 0x7b

        /** The smallest page size there is, which divides all others. */
        private const val PAGE = 4096L

        /**
         * So many iterations differ; a prime, so that no packet lies where that of another iteration has the same
         * bytes.
         */
        private const val SHIFTS = 251

        /** The same in both processes. */
        private const val SEED = 18515
    }
}
