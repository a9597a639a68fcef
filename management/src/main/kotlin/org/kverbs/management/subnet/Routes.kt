package org.kverbs.management.subnet

import org.kverbs.structures.Lid

/** The port of a table without an entry. */
private const val NO_ENTRY = 255

/** Finds ways through a subnet. Only switches hand on what is not for them. */
internal class Routes(
    private val subnet: Subnet,
) {
    private val data = subnet.data

    /** A way over the fewest links, or null. Of several the one by the lowest ports. */
    fun shortest(
        from: Int,
        to: Int,
    ): SubnetRoute? {
        val cameBy = IntArray(data.nodeCount) { NONE }
        val open = IntArray(data.nodeCount)
        var first = 0
        var last = 0
        open[last++] = from
        while (first < last && cameBy[to] == NONE) {
            val node = open[first++]
            if (node != from && !SubnetNode(subnet, node).isSwitch) continue
            for (port in data.ports(node)) {
                val peer = data.peers[port]
                if (peer == NONE) continue
                val next = data.nodeOf(peer)
                if (next == from || cameBy[next] != NONE) continue
                cameBy[next] = port
                open[last++] = next
            }
        }
        return if (from == to || cameBy[to] != NONE) SubnetRoute(SubnetNode(subnet, from), back(to, cameBy)) else null
    }

    private fun back(
        to: Int,
        cameBy: IntArray,
    ): List<SubnetHop> {
        val hops = ArrayDeque<SubnetHop>()
        var node = to
        while (cameBy[node] != NONE) {
            val port = cameBy[node]
            hops.addFirst(SubnetHop(SubnetPort(subnet, port), SubnetPort(subnet, data.peers[port])))
            node = data.nodeOf(port)
        }
        return hops
    }

    /** The way that the tables of the switches lead what is for [lid]. */
    fun byTables(
        from: SubnetPort,
        lid: Lid,
        tables: ForwardingTables,
    ): SubnetRoute {
        val hops = mutableListOf<SubnetHop>()
        val visited = HashSet<Int>()
        var node = from.node

        fun ends(why: String?) = SubnetRoute(from.node, hops, why)
        while (true) {
            if (hasLid(node, lid)) return ends(null)
            val port =
                when {
                    node.isSwitch -> tables.port(node, lid)
                    hops.isEmpty() -> from.number
                    else -> return ends("$node has not the LID $lid, and hands nothing on")
                }
            if (!visited.add(node.index)) return ends("$node was reached a second time: the tables lead in a circle")
            if (port == null || port == NO_ENTRY) return ends("$node has no entry for the LID $lid")
            val out = node.port(port) ?: return ends("$node has no port $port, to which its table leads the LID $lid")
            val into = out.peer ?: return ends("$out has no link, but the table leads the LID $lid there")
            hops += SubnetHop(out, into)
            node = into.node
        }
    }

    private fun hasLid(
        node: SubnetNode,
        lid: Lid,
    ): Boolean =
        node.ports.any { port ->
            val first = port.lid.value
            first != 0 && lid.value in first until first + (1 shl port.lmc)
        }
}
