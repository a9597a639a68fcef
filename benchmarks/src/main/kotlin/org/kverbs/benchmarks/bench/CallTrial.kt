package org.kverbs.benchmarks.bench

import java.lang.management.ManagementFactory
import java.util.concurrent.TimeUnit.MILLISECONDS

/**
 * Measures one call in this process, which makes no other, so that the JVM compiles for it alone. [Calls] starts it.
 * Prints the lowest processor time of a call, nanoseconds, and the bytes that a call allocates on the heap.
 *
 * @param args the call's name
 */
fun main(args: Array<String>) {
    val call = Call.entries.single { "$it" == args.single() }
    call.open().use { println(CallTrial(it).run()) }
}

/** Repeats a call for one thread. */
private class CallTrial(
    private val loop: Call.Loop,
) {
    private val threads = ManagementFactory.getThreadMXBean() as com.sun.management.ThreadMXBean

    fun run(): String {
        var rounds = FIRST_ROUNDS
        val begin = threads.currentThreadCpuTime
        // Compiled, and as many calls as a part of the measurement takes.
        while (threads.currentThreadCpuTime - begin < WARM_UP) if (time(rounds) < PART) rounds += rounds / 2
        val bytes = threads.currentThreadAllocatedBytes
        val lowest = (1..PARTS).minOf { time(rounds) }
        val allocated = threads.currentThreadAllocatedBytes - bytes
        return "${lowest.toDouble() / rounds} ${allocated.toDouble() / rounds / PARTS}"
    }

    private fun time(rounds: Int): Long {
        val begin = threads.currentThreadCpuTime
        loop.run(rounds)
        return threads.currentThreadCpuTime - begin
    }

    private companion object {
        const val FIRST_ROUNDS = 1000
        const val PARTS = 25
        val WARM_UP = MILLISECONDS.toNanos(600)
        val PART = MILLISECONDS.toNanos(10)
    }
}
