package org.kverbs.ibtool.counters

import org.kverbs.ibtool.fabric.DiscoveryOrder
import org.kverbs.management.structures.NodeType
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.structures.Lid

/** All ports of a fabric as commands ask for their counters: those of a switch at once, those of the others singly. */
internal object EveryPort {
    /** The number that stands for all ports of a switch. */
    const val ALL = 255

    /** All nodes, switches first. */
    fun nodes(subnet: Subnet): List<SubnetNode> {
        val order = DiscoveryOrder(subnet)
        return listOf(NodeType.SWITCH, NodeType.CA, NodeType.ROUTER).flatMap(order::nodes)
    }

    /** The LIDs, 0 for none, and numbers of the ports to ask a node for. */
    fun addresses(node: SubnetNode): List<Pair<Lid, Int>> =
        if (node.isSwitch) {
            listOf((node.port(0)?.lid ?: Lid(0)) to ALL)
        } else {
            linked(node).map { it.lid to it.number }
        }

    /** The ports of a node that have a link. */
    fun linked(node: SubnetNode) = node.ports.filter { it.number != 0 && it.peer != null }
}
