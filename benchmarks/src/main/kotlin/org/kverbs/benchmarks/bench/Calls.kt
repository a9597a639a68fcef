package org.kverbs.benchmarks.bench

import java.nio.file.Path
import java.time.Duration

/**
 * Measures calls of kverbs beside the same loop in C, one after the other, by the processor time of their threads: on a
 * machine that others use, a clock would count them, too.
 *
 * @property loops the program in C
 * @property library libnullverbs, whose queues move nothing
 */
internal class Calls(
    private val loops: Path,
    private val library: Path,
) {
    /**
     * The costs of a call, nanoseconds.
     *
     * @property allocated the bytes that kverbs allocates on the heap
     */
    data class Cost(
        val kverbs: Double,
        val c: Double,
        val allocated: Double,
    ) {
        /** How many times as much kverbs takes. */
        val ratio get() = kverbs / c

        /**
         * The one with the lower ratio, with the lower allocation of both. Times of two attempts are never mixed: the
         * machine can be quiet for C in one, and busy for kverbs in the other.
         */
        fun best(other: Cost) =
            minOf(this, other, compareBy { it.ratio }).copy(allocated = minOf(allocated, other.allocated))
    }

    /**
     * Measures these calls once.
     *
     * @throws BenchException if a program of theirs fails
     */
    fun measure(calls: Collection<Call>): Map<Call, Cost> {
        val c = inC()
        return calls.associateWith { call ->
            val (nanos, bytes) = inKverbs(call).trim().split(' ').map { it.toDouble() }
            val loop = c[call.c] ?: throw BenchException("$loops has no loop ${call.c}")
            Cost(nanos, loop, bytes)
        }
    }

    /** The lowest times of the loops, by their names. */
    private fun inC(): Map<String, Double> =
        ChildProcess(listOf("$loops", SECONDS_OF_A_REPETITION))
            .output(LIMIT)
            .lines()
            .map { it.split(' ') }
            .filter { it.size == COLUMNS }
            .associate { (name, _, lowest) -> name to lowest.toDouble() }

    private fun inKverbs(call: Call): String {
        val java = Path.of(System.getProperty("java.home"), "bin", "java").toString()
        // -Xbatch: what is to be compiled is compiled before it goes on, however little the compiler's threads get.
        val options = listOf("-Xbatch", "--enable-native-access=ALL-UNNAMED", "-Dkverbs.libibverbs=$library")
        val main = "org.kverbs.benchmarks.bench.CallTrialKt"
        val command = listOf(java) + options + listOf("-cp", System.getProperty("java.class.path"), main, "$call")
        return ChildProcess(command).output(LIMIT)
    }

    private companion object {
        const val SECONDS_OF_A_REPETITION = "0.03"
        const val COLUMNS = 3
        val LIMIT: Duration = Duration.ofSeconds(120)
    }
}
