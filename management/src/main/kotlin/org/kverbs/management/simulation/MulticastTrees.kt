package org.kverbs.management.simulation

private const val PORTS_IN_MASK = 16
private const val LIDS_IN_BLOCK = 32
private const val FIRST_MLID = 0xc000

/** Leads multicast groups: the shortest paths from the first member's switch to all others make a tree. */
internal class MulticastTrees(
    private val network: Network,
) {
    private val topology = network.topology

    /** Fills the masks of a group in all switches. Without members they are empty. */
    fun route(
        mlid: Int,
        members: List<Int>,
    ) {
        val ports = HashMap<Int, MutableSet<Int>>()
        val root = members.firstOrNull()?.let(::switchOf)
        if (root != null) {
            val parents = reach(root)
            for (member in members) {
                val node = switchOf(member) ?: continue
                val isSwitch = topology.isSwitch(topology.nodeOf(member))
                val own = if (isSwitch) 0 else topology.numberOf(topology.peer(member))
                ports.getOrPut(node) { HashSet() } += own
                climb(node, root, parents, ports)
            }
        }
        for (node in 0 until topology.size) {
            if (topology.isSwitch(node)) write(node, mlid, ports[node].orEmpty())
        }
    }

    private fun switchOf(end: Int): Int? {
        val node = topology.nodeOf(end)
        if (topology.isSwitch(node)) return node
        val peer = topology.peer(end)
        return if (peer == Topology.NONE) null else topology.nodeOf(peer).takeIf(topology::isSwitch)
    }

    /** Of each switch, the port by which it was reached first. */
    private fun reach(root: Int): Map<Int, Int> {
        val parents = HashMap<Int, Int>()
        val open = ArrayDeque(listOf(root))
        while (open.isNotEmpty()) {
            val node = open.removeFirst()
            for (number in 1..topology.node(node).ports) {
                val port = topology.port(node, number)
                val peer = network.far(port)
                if (peer == Topology.NONE) continue
                val next = topology.nodeOf(peer)
                if (next != root && topology.isSwitch(next) && parents.putIfAbsent(next, peer) == null) open += next
            }
        }
        return parents
    }

    private fun climb(
        from: Int,
        root: Int,
        parents: Map<Int, Int>,
        ports: MutableMap<Int, MutableSet<Int>>,
    ) {
        var node = from
        while (node != root) {
            val up = parents[node] ?: return
            val down = topology.peer(up)
            ports.getOrPut(node) { HashSet() } += topology.numberOf(up)
            node = topology.nodeOf(down)
            ports.getOrPut(node) { HashSet() } += topology.numberOf(down)
        }
    }

    private fun write(
        node: Int,
        mlid: Int,
        ports: Set<Int>,
    ) {
        val table = network.tables.ofSwitch(node)
        val block = (mlid - FIRST_MLID) / LIDS_IN_BLOCK
        val at = (mlid - FIRST_MLID) % LIDS_IN_BLOCK * 2
        val bytes = ByteArray(SwitchTables.BLOCK)
        for (position in 0..topology.node(node).ports / PORTS_IN_MASK) {
            table.multicastBlock(block, position, bytes, 0)
            val here = ports.filter { it / PORTS_IN_MASK == position }
            val mask = here.fold(0) { bits, port -> bits or (1 shl port % PORTS_IN_MASK) }
            if (Wire.u16(bytes, at) == mask) continue
            Wire.put16(bytes, at, mask)
            table.setMulticastBlock(block, position, bytes, 0)
        }
    }
}
