package org.kverbs.coroutines.soak

import org.kverbs.dsl.MiB

/**
 * Judges whether what a process holds stays flat. The first third of the moments is not judged: caches fill, the JVM
 * loads classes and compiles. For the others it takes the median of the slopes between all pairs of moments (Theil and
 * Sen), which a few high or low moments do not move, and multiplies it by their span.
 */
internal object Flatness {
    /** Fewer moments than this prove nothing. */
    const val LEAST = 6

    private class Figure(
        val name: String,
        val most: Double,
        val of: (SoakHoldings) -> Number,
    )

    /** By how much each figure can grow over the judged moments, in bytes or pieces. */
    private val figures =
        listOf(
            Figure("bytes of heap", 2.0 * 1.MiB) { it.held.heap },
            // Caches grow to their high-water mark, which a run of a minute reaches late. A leak of one piece a turn
            // shows in a run of an hour, which has some hundred turns.
            Figure("bytes of arenas", 2.0 * 1.MiB) { it.held.arenas },
            // The JVM's own growth by code and by its allocator.
            Figure("bytes of resident memory", 24.0 * 1.MiB) { it.held.resident },
            Figure("open resources", 8.0) { it.held.open },
            Figure("descriptors", 2.0) { it.descriptors },
            Figure("threads", 2.0) { it.threads },
        )

    /** Returns a sentence for each figure that grows; empty if all are flat. */
    fun growths(moments: List<SoakHoldings>): List<String> {
        require(moments.size >= LEAST) { "${moments.size} moments say nothing about growth; take $LEAST or more" }
        val judged = moments.drop(moments.size / 3)
        return figures.mapNotNull { figure ->
            val growth = growth(judged.map { figure.of(it).toDouble() })
            if (growth <= figure.most) {
                null
            } else {
                "%s grew by %.0f in %d moments".format(figure.name, growth, judged.size)
            }
        }
    }

    private fun growth(values: List<Double>): Double {
        val slopes =
            values.indices
                .flatMap { i -> (i + 1..values.lastIndex).map { j -> (values[j] - values[i]) / (j - i) } }
                .sorted()
        val middle = slopes.size / 2
        val median = if (slopes.size % 2 == 1) slopes[middle] else (slopes[middle - 1] + slopes[middle]) / 2
        return median * values.lastIndex
    }
}
