package org.kverbs.management.check

import org.kverbs.management.subnet.SubnetPort

/**
 * Two ports of a switch that are equally near to some hosts, of which one carries much more than the other.
 *
 * @property busy the port with more LIDs
 * @property busyLids how many LIDs of hosts the switch leads to [busy]
 * @property idle the port with fewer LIDs
 * @property idleLids how many LIDs of hosts the switch leads to [idle]
 * @property movable how many LIDs of [busy] have an equally short way by [idle]
 */
public class UnbalancedPorts internal constructor(
    public val busy: SubnetPort,
    public val busyLids: Int,
    public val idle: SubnetPort,
    public val idleLids: Int,
    public val movable: Int,
) {
    /** Returns both ports and their numbers of LIDs in one line without control characters. */
    override fun toString(): String =
        "$busy carries $busyLids LIDs and port ${idle.number} carries $idleLids; $movable can go either way"
}
