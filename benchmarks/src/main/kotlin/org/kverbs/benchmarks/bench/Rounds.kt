package org.kverbs.benchmarks.bench

import java.time.Duration

/** The rounds of some contenders: all are measured once, and then once again. */
internal class Rounds(
    private val contenders: List<Contender>,
    private val time: Duration,
    private val handover: () -> Long = Handover::nanos,
    private val tell: (String) -> Unit = System.err::println,
) {
    private val measured = mutableListOf<Long>()

    /** The nanoseconds of a [Handover] before each measurement. */
    val handovers: List<Long> get() = measured

    /** Measures so many rounds. A contender that fails is told, and left out of the rounds that follow. */
    fun run(rounds: Int): List<Figures> {
        val figures = contenders.map { Figures(it.name, it.title) }
        for (round in 1..rounds) {
            // Each second round goes backwards, so that none always follows the same one.
            val order = contenders.zip(figures).let { if (round % 2 == 0) it.reversed() else it }
            for ((contender, of) in order) {
                if (of.failure != null) continue
                tell("round $round of $rounds: ${contender.name}")
                try {
                    measured += handover()
                    of.add(contender.measure(time))
                } catch (e: BenchException) {
                    of.failure = e.message
                    tell("kverbs: ${contender.name} failed: ${e.message}")
                }
            }
        }
        return figures
    }
}
