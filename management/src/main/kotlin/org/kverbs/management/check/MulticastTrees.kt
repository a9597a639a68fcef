package org.kverbs.management.check

import org.kverbs.management.subnet.ForwardingTables
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.management.subnet.SubnetPort
import org.kverbs.structures.Lid

/**
 * Returns the tree of each multicast group for which a switch has an entry, in the order of their LIDs. It asks the
 * fabric nothing, and reckons on the calling thread.
 */
public fun ForwardingTables.multicastTrees(): List<MulticastTree> {
    val switches = HashMap<Lid, MutableList<SubnetNode>>()
    for (switch in subnet.switches) {
        for (lid in multicastLids(switch)) switches.getOrPut(lid) { ArrayList() } += switch
    }
    return switches.entries.sortedBy { it.key.value }.map { (lid, of) -> TreeOf(this, lid, of).find() }
}

private class TreeOf(
    private val tables: ForwardingTables,
    private val lid: Lid,
    private val switches: List<SubnetNode>,
) {
    /** The root of the part that a switch belongs to, over several steps. */
    private val parents = HashMap<SubnetNode, SubnetNode>()
    private val ends = ArrayList<SubnetPort>()
    private val oneSided = ArrayList<SubnetPort>()
    private var loopLinks = 0

    fun find(): MulticastTree {
        val outs = switches.associateWith { switch -> tables.ports(switch, lid).mapNotNull { switch.port(it) } }
        val all = outs.values.flatten().toSet()
        for (out in all) {
            val into = out.peer ?: continue
            when {
                !into.node.isSwitch -> ends += into
                into !in all -> oneSided += out
                out.index <= into.index -> link(out.node, into.node)
            }
        }
        val parts = switches.count { root(it) == it }
        return MulticastTree(lid, switches, ends.sortedBy { it.index }, parts, loopLinks, oneSided)
    }

    private fun link(
        one: SubnetNode,
        other: SubnetNode,
    ) {
        val roots = root(one) to root(other)
        if (roots.first == roots.second) loopLinks++ else parents[roots.first] = roots.second
    }

    private fun root(of: SubnetNode): SubnetNode {
        var at = of
        while (true) {
            val up = parents[at] ?: return at
            parents[up]?.let { parents[at] = it }
            at = up
        }
    }
}
