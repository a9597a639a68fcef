package org.kverbs.coroutines

import java.util.Arrays

/**
 * Clears the upper halves of the vector registers of x86-64 before a call to native code.
 *
 * The JIT initializes new objects with 256-bit stores, and leaves the upper halves of the registers in use. C code that
 * was compiled without AVX, as the libraries of distributions are, then takes some 65 ns for its first SSE instruction,
 * and the code of the JIT some 25 ns for its next AVX instruction; those are spills of integers to vector registers,
 * which the JIT makes in one compilation and not in another. So the same call took 63 ns in one JVM and 146 to 300 in
 * the next one. The instruction that clears the halves (VZEROUPPER) ends them.
 */
internal object VectorRegisters {
    // Longer than the 64 bytes that the JIT compares in place: for more it calls a stub, which ends with VZEROUPPER.
    private const val BYTES = 96
    private val bytes = ByteArray(BYTES)
    private val same = ByteArray(BYTES)
    private val isNeeded = System.getProperty("os.arch") in setOf("amd64", "x86_64")

    /** Clears the upper halves: 2 ns in compiled code. Any thread can call it. */
    fun clearUpperHalves() {
        // The result is used, or the JIT could leave out the call.
        if (isNeeded && Arrays.mismatch(bytes, same) >= 0) throw AssertionError()
    }
}
