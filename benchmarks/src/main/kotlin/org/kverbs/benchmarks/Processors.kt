package org.kverbs.benchmarks

import java.lang.foreign.Arena
import java.lang.foreign.FunctionDescriptor
import java.lang.foreign.Linker
import java.lang.foreign.ValueLayout.ADDRESS
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.foreign.ValueLayout.JAVA_INT
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.lang.invoke.MethodHandle

/**
 * Keeps each measured thread on a processor of its own, if the system property `cpus` lists as many: `-Dcpus=0,1`. Some
 * kernels run two busy threads on one processor for seconds while another one is idle.
 */
internal object Processors {
    /** Bytes of a `cpu_set_t`. */
    private const val MASK = 128L
    private val numbers =
        System
            .getProperty("cpus", "")
            .split(',')
            .filter { it.isNotEmpty() }
            .map { it.toInt() }
            .also { require(it.size != 1) { "cpus=${it.single()}: give two processors, as in cpus=0,1" } }
    private val setAffinity: MethodHandle by lazy {
        val linker = Linker.nativeLinker()
        val function = linker.defaultLookup().find("sched_setaffinity").orElseThrow()
        linker.downcallHandle(function, FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS))
    }

    /** Moves the calling thread to a processor of the list; does nothing without a list. */
    fun take(index: Int) {
        if (numbers.isEmpty()) return
        val cpu = numbers[index]
        Arena.ofConfined().use { arena ->
            val mask = arena.allocate(MASK, Long.SIZE_BYTES.toLong())
            mask.set(JAVA_BYTE, cpu / 8L, (1 shl cpu % 8).toByte())
            val result = setAffinity.invokeWithArguments(0, MASK, mask) as Int
            check(result == 0) { "this process cannot use processor $cpu" }
        }
    }
}
