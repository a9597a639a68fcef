package org.kverbs.management.check

import org.kverbs.management.subnet.SubnetProblem

/**
 * The partitions of a subnet.
 *
 * @property all the partitions in the order of their keys
 * @property problems the ports whose tables could not be fetched
 */
public class Partitions internal constructor(
    public val all: List<Partition>,
    public val problems: List<SubnetProblem>,
) {
    /** Returns a line for each partition. */
    override fun toString(): String = all.joinToString("\n")
}
