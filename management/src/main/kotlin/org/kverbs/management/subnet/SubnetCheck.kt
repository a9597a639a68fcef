package org.kverbs.management.subnet

import org.kverbs.management.path.DirectedPath

/** Refuses arrays whose parts do not fit together, so that no later question fails or runs without end. */
internal class SubnetCheck(
    private val data: SubnetData,
) {
    fun check() {
        val ports = data.portCount
        require(data.guids.isStrictlySorted(), "the nodes are not in the order of their GUIDs")
        require(data.firstPorts.last() == ports, "the nodes do not have as many ports as there are")
        for (node in 0 until data.nodeCount) checkNode(node)
        require(data.peers.all { it in NONE until ports }, "a port is linked with a port that is not there")
        require(data.here in NONE until ports, "it began at a port that is not there")
        val extended = data.extendedPorts
        require(extended.all { it in 0 until ports }, "an attribute belongs to a port that is not there")
        require((1 until extended.size).all { extended[it - 1] < extended[it] }, "attributes are not in order")
        for (node in 0 until data.nodeCount) require(isReached(node), "the way to a node has no beginning")
    }

    private fun checkNode(node: Int) {
        val first = data.firstPorts[node]
        val last = data.firstPorts[node + 1]
        require(first in 0..last && last <= data.portCount, "the ports of a node are not in order")
        val info = data.nodeInfo(node)
        require(info.nodeGUID.value == data.guids[node], "a node has two GUIDs")
        for (port in first until last) {
            require(data.number(port) <= info.numPorts, "a node has a port beyond its last one")
            require(port == first || data.number(port - 1) < data.number(port), "the ports of a node are not in order")
        }
        require(data.cameBy[node] in NONE until data.portCount, "a node was found by a port that is not there")
    }

    private fun isReached(node: Int): Boolean {
        var at = node
        repeat(DirectedPath.MAX_HOPS + 1) {
            val by = data.cameBy[at]
            if (by == NONE) return true
            if (data.number(by) == NO_HOP) return false
            at = data.nodeOf(by)
        }
        return false
    }

    private fun LongArray.isStrictlySorted() = (1 until size).all { this[it - 1] < this[it] }

    private fun require(
        condition: Boolean,
        wrong: String,
    ) {
        if (!condition) throw SubnetFileException("the subnet is damaged: $wrong")
    }

    private companion object {
        /** A number of a port that no directed path can have. */
        private const val NO_HOP = 255
    }
}
