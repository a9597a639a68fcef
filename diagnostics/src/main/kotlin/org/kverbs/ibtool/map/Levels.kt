package org.kverbs.ibtool.map

import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.SubnetNode

/** How far switches are from the nearest host or router, which are at level 0. */
internal class Levels(
    subnet: Subnet,
) {
    private val levels = HashMap<SubnetNode, Int>()

    init {
        val open = ArrayDeque<SubnetNode>()

        fun enter(
            node: SubnetNode,
            level: Int,
        ) {
            if (levels.putIfAbsent(node, level) == null) open.addLast(node)
        }
        subnet.nodes.filterNot { it.isSwitch }.forEach { enter(it, 0) }
        if (open.isEmpty()) subnet.nodes.firstOrNull()?.let { enter(it, 1) }
        while (open.isNotEmpty()) {
            val node = open.removeFirst()
            for (port in node.ports) port.peer?.let { enter(it.node, levels.getValue(node) + 1) }
        }
    }

    /** The level of a node; 1 for a switch without a way to a host. */
    fun of(node: SubnetNode): Int = levels[node] ?: 1
}
