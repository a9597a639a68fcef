package org.kverbs.benchmarks.bench

/**
 * The figures of one contender. For one thread.
 *
 * @property name the contender's name
 * @property title the contender's words for a table
 */
internal class Figures(
    val name: String,
    val title: String,
) {
    private val rounds = mutableListOf<Map<Case, Double>>()

    /** Why the contender failed, if it did. */
    var failure: String? = null

    /** Adds the figures of a round, one for each case. */
    fun add(round: Map<Case, Double>) {
        rounds += round
    }

    /** True if there is a round. */
    val areThere get() = rounds.isNotEmpty()

    /** The figures of a case, in the order of the rounds. */
    fun all(case: Case): List<Double> = rounds.map { it.getValue(case) }

    /** The median of a case. */
    fun median(case: Case): Double = Trial.median(all(case))
}
