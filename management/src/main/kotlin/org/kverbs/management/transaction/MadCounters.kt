package org.kverbs.management.transaction

/**
 * How often each [MadEventKind] happened since the transactor was made.
 *
 * @property outstanding how many transactions wait for an answer now
 */
public class MadCounters internal constructor(
    private val counts: Map<MadEventKind, Long>,
    public val outstanding: Int,
) {
    /** Returns how often [kind] happened. */
    public operator fun get(kind: MadEventKind): Long = counts.getValue(kind)

    /** Returns all counters in one line. */
    override fun toString(): String =
        counts.entries.joinToString(" ") { (kind, count) -> "$kind=$count" } + " outstanding=$outstanding"
}
