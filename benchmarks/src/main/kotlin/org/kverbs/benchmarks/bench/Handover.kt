package org.kverbs.benchmarks.bench

import java.util.concurrent.atomic.AtomicLongArray
import kotlin.concurrent.thread

/**
 * How long a cache line takes from one processor to another one and back: two threads that wait for each other's number
 * by turns. Whatever two threads exchange in memory takes a few of these. A virtual machine can get processors that
 * share a cache for some seconds, and then others that share none: on one machine it was 80 ns and 430 ns by turns,
 * each for seconds, and all that two threads of a process do with each other went at half the rate meanwhile.
 */
internal object Handover {
    private const val PARTS = 21
    private const val ROUNDS = 3_000L

    /** After so many looks in vain, a thread offers its processor: perhaps the other thread has to run on it. */
    private const val LOOKS = 100_000

    /** The cells of the two threads, each in a line of its own, with lines between that a processor fetches with it. */
    private const val CELLS = 96
    private const val THERE = 32
    private const val BACK = 64

    /**
     * Measures for some milliseconds, and returns the median of some parts, in nanoseconds.
     *
     * @param near called by the one thread first, as to choose its processor
     * @param far called by the other one
     */
    fun nanos(
        near: () -> Unit = {},
        far: () -> Unit = {},
    ): Long {
        val cells = AtomicLongArray(CELLS)
        val last = PARTS * ROUNDS
        val answering =
            thread(isDaemon = true, name = "handover") {
                far()
                for (round in 1..last) {
                    await(cells, THERE, round)
                    cells.set(BACK, round)
                }
            }
        var parts = emptyList<Long>()
        val asking =
            thread(isDaemon = true, name = "handover") {
                near()
                parts = List(PARTS) { part -> part(cells, part * ROUNDS) / ROUNDS }
            }
        asking.join()
        answering.join()
        return parts.sorted()[PARTS / 2]
    }

    private fun part(
        cells: AtomicLongArray,
        before: Long,
    ): Long {
        val began = System.nanoTime()
        for (round in before + 1..before + ROUNDS) {
            cells.set(THERE, round)
            await(cells, BACK, round)
        }
        return System.nanoTime() - began
    }

    private fun await(
        cells: AtomicLongArray,
        index: Int,
        round: Long,
    ) {
        var looks = 0
        while (cells.get(index) != round) if (looks++ < LOOKS) Thread.onSpinWait() else Thread.yield()
    }
}
