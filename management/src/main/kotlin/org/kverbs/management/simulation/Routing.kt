package org.kverbs.management.simulation

/**
 * Fills the forwarding tables of switches with shortest paths. Among several, a switch takes the port that leads to the
 * fewest hosts so far.
 */
internal class Routing(
    private val network: Network,
    private val switches: List<Int>,
    private val byLid: IntArray,
) {
    private val topology = network.topology
    private val places = IntArray(topology.size) { Topology.NONE }

    init {
        switches.forEachIndexed { at, node -> places[node] = at }
    }

    /** Of each switch, the ports that lead to other switches, and the places of those. */
    private val ports = Array(switches.size) { trunks(switches[it]) }
    private val neighbours = Array(switches.size) { at -> IntArray(ports[at].size) { placeBehind(ports[at][it]) } }
    private val loads = Array(switches.size) { IntArray(ports[it].size) }
    private val tables = Array(switches.size) { ByteArray(tableSize()) { SwitchTables.NO_PORT.toByte() } }

    private fun trunks(node: Int) =
        (1..topology.node(node).ports)
            .map { topology.port(node, it) }
            .filter { network.far(it) != Topology.NONE && placeBehind(it) != Topology.NONE }
            .toIntArray()

    private fun placeBehind(port: Int) = places[topology.nodeOf(topology.peer(port))]

    /** Whole blocks of the table. */
    private fun tableSize() = (byLid.size + SwitchTables.BLOCK - 1) / SwitchTables.BLOCK * SwitchTables.BLOCK

    fun fill() {
        val lidsAt = Array(switches.size) { ArrayList<Int>() }
        byLid.forEachIndexed { lid, end -> if (end != Topology.NONE) placeOf(end)?.let { lidsAt[it] += lid } }
        val distances = IntArray(switches.size)
        for (destination in switches.indices) {
            measure(destination, distances)
            lidsAt[destination].forEach { lid -> route(destination, lid, distances) }
        }
        switches.forEachIndexed { at, node -> network.tables.ofSwitch(node).setLinear(tables[at], byLid.size - 1) }
    }

    /** The switch that a LID is at: itself, or the one that its host is linked with. */
    private fun placeOf(end: Int): Int? {
        val node = topology.nodeOf(end)
        val at = if (topology.isSwitch(node)) places[node] else placeBehind(end)
        return at.takeIf { it != Topology.NONE }
    }

    private fun measure(
        destination: Int,
        distances: IntArray,
    ) {
        distances.fill(FAR)
        distances[destination] = 0
        val open = IntArray(switches.size)
        open[0] = destination
        var first = 0
        var end = 1
        while (first < end) {
            val at = open[first++]
            for (next in neighbours[at]) {
                if (distances[next] != FAR) continue
                distances[next] = distances[at] + 1
                open[end++] = next
            }
        }
    }

    private fun route(
        destination: Int,
        lid: Int,
        distances: IntArray,
    ) {
        val end = byLid[lid]
        val isHost = !topology.isSwitch(topology.nodeOf(end))
        tables[destination][lid] = if (isHost) topology.numberOf(topology.peer(end)).toByte() else 0
        for (at in switches.indices) {
            if (at == destination || distances[at] == FAR) continue
            val best = leastLoaded(at, distances)
            if (isHost) loads[at][best]++
            tables[at][lid] = topology.numberOf(ports[at][best]).toByte()
        }
    }

    private fun leastLoaded(
        at: Int,
        distances: IntArray,
    ): Int {
        val load = loads[at]
        val next = neighbours[at]
        val wanted = distances[at] - 1
        var best = -1
        for (index in next.indices) {
            if (distances[next[index]] == wanted && (best < 0 || load[index] < load[best])) best = index
        }
        return best
    }

    private companion object {
        const val FAR = Int.MAX_VALUE
    }
}
