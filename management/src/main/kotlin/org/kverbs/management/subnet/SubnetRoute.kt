package org.kverbs.management.subnet

/**
 * A way through a subnet.
 *
 * @property from the node where the route begins
 * @property hops the links in order; empty for a route from a node to itself
 * @property isComplete whether the route reaches its end
 * @property text if the route is not complete, a sentence that says where it ends and why; else null
 */
public class SubnetRoute internal constructor(
    public val from: SubnetNode,
    public val hops: List<SubnetHop>,
    public val text: String? = null,
) {
    public val isComplete: Boolean get() = text == null

    /** The node where the route ends, even if it is not complete. */
    public val to: SubnetNode get() = hops.lastOrNull()?.into?.node ?: from

    /** The slowest rate on the way, or null if a rate is not known or there is no link. */
    public val rate: LinkRate?
        get() {
            val rates = hops.map { it.link.rate ?: return null }
            return rates.minByOrNull { it.gigabits }
        }

    /** Returns a line for the first node, one for each hop, and one for the reason if the route is not complete. */
    override fun toString(): String = (listOf("from $from") + hops + listOfNotNull(text)).joinToString("\n")
}
