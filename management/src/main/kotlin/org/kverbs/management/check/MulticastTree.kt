package org.kverbs.management.check

import org.kverbs.management.subnet.SubnetNode
import org.kverbs.management.subnet.SubnetPort
import org.kverbs.structures.Lid

/**
 * The links over which the switches hand on the packets of a multicast group.
 *
 * @property lid the LID of the group
 * @property switches the switches that have an entry for the group
 * @property ends the ports of hosts and routers that get the packets
 * @property parts into how many parts the switches fall that no link of the group connects; 1 if it is one tree
 * @property loopLinks how many links there are beyond a tree's. Each makes a circle, in which packets multiply.
 * @property oneSided the ports by which a switch hands packets to a switch that hands none back
 */
public class MulticastTree internal constructor(
    public val lid: Lid,
    public val switches: List<SubnetNode>,
    public val ends: List<SubnetPort>,
    public val parts: Int,
    public val loopLinks: Int,
    public val oneSided: List<SubnetPort>,
) {
    /** Whether the links of the group are one tree. */
    public val isTree: Boolean get() = parts == 1 && loopLinks == 0 && oneSided.isEmpty()

    /** Returns the LID, and what is there, in one line. */
    override fun toString(): String =
        "group $lid: ${switches.size} switches, ${ends.size} ports of hosts, $parts parts, $loopLinks links that " +
            "close a circle, ${oneSided.size} links of one direction"
}
