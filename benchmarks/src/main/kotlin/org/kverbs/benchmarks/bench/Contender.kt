package org.kverbs.benchmarks.bench

import java.time.Duration

/** Moves messages between two ends of this machine, and is measured beside others. */
internal interface Contender {
    /** The name on the command line, and in JSON. */
    val name: String

    /** What it is, in a few words, for a table. */
    val title: String

    /** Returns why it can't be measured on this machine, and what to do about it; null if it can. */
    fun obstacle(): String?

    /**
     * Measures all cases once, for so long each.
     *
     * @throws BenchException if it fails, or takes much longer
     */
    fun measure(time: Duration): Map<Case, Double>
}
