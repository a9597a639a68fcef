package org.kverbs.management.subnet

/**
 * One link of a [SubnetRoute], in the direction of the route.
 *
 * @property out the port by which a node is left
 * @property into the port at which the next node is reached
 */
public data class SubnetHop(
    public val out: SubnetPort,
    public val into: SubnetPort,
) {
    /** The link. */
    public val link: SubnetLink get() = SubnetLink.of(out, into)

    /** Returns both ports in one line without control characters. */
    override fun toString(): String = "$out -> $into"
}
