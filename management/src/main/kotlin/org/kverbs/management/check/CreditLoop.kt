package org.kverbs.management.check

import org.kverbs.management.subnet.SubnetHop

/**
 * A circle of links in which packets can wait for each other without end: each link is full of packets for the next.
 *
 * @property hops the links in order; the last one leads to the switch where the first one begins
 */
public class CreditLoop internal constructor(
    public val hops: List<SubnetHop>,
) {
    /** Returns the ports by which the switches of the circle are left, in one line without control characters. */
    override fun toString(): String = hops.joinToString(" -> ") { "${it.out}" }
}
