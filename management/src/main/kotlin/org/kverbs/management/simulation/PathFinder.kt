package org.kverbs.management.simulation

import org.kverbs.attributes.Gid
import org.kverbs.management.structures.MTU
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PathRecord
import org.kverbs.management.structures.Rate
import org.kverbs.management.structures.Selector
import org.kverbs.management.structures.TraceRecord
import org.kverbs.structures.Lid

private const val LINK_LOCAL = 0xfe80L shl 48

/** Finds the paths between ports: it follows the forwarding tables. */
internal class PathFinder(
    private val network: Network,
) {
    private val topology = network.topology

    fun gid(end: Int) = Gid(LINK_LOCAL, network.portGuid(end))

    /** The path from one end port to another, or null if the tables do not lead there. */
    fun path(
        from: Int,
        to: Int,
    ): PathRecord? {
        val exits = exits(from, to) ?: return null
        var mtu = minOf(network.mtu(from), network.mtu(to))
        var rate = if (exits.isEmpty()) ownRate(from) else Int.MAX_VALUE
        for (exit in exits) {
            val peer = topology.peer(exit)
            mtu = minOf(mtu, network.mtu(exit), network.mtu(peer))
            rate = minOf(rate, LinkRates.gigabits(topology.rate(exit) with topology.rate(peer)))
        }
        return record(from, to, mtu, LinkRates.code(rate))
    }

    /** The nodes on the way from one end port to another, both ends too; null if the tables do not lead there. */
    fun trace(
        from: Int,
        to: Int,
    ): List<TraceRecord>? {
        val exits = exits(from, to) ?: return null
        val entries = exits.map(topology::peer)
        return List(exits.size + 1) { at ->
            hop(entries.getOrElse(at - 1) { Topology.NONE }, exits.getOrElse(at) { Topology.NONE }, from)
        }
    }

    private fun hop(
        entry: Int,
        exit: Int,
        from: Int,
    ) = TraceRecord {
        val node = topology.nodeOf(if (entry == Topology.NONE) from else entry)
        val spec = topology.node(node)
        gidPrefix = LINK_LOCAL
        nodeType = NodeType.of(spec.kind)
        nodeID = network.nodeGuid(node)
        chassisID = spec.systemGuid ?: network.nodeGuid(node)
        if (entry != Topology.NONE) {
            entryPortID = network.portGuid(entry)
            entryPort = topology.numberOf(entry)
        }
        if (exit != Topology.NONE) {
            exitPortID = network.portGuid(exit)
            exitPort = topology.numberOf(exit)
        }
    }

    /** The ports by which the way leaves each node. */
    private fun exits(
        from: Int,
        to: Int,
    ): List<Int>? {
        val exits = ArrayList<Int>()
        var port = from
        while (!isAt(port, to)) {
            val exit = exit(port, to, isFirst = exits.isEmpty())
            val peer = if (exit == Topology.NONE) Topology.NONE else network.far(exit)
            if (peer == Topology.NONE || exits.size > MOST_LINKS) return null
            exits += exit
            port = peer
        }
        return exits
    }

    /** Where a node sends on what is for a port. Hosts and routers pass nothing on. */
    private fun exit(
        port: Int,
        to: Int,
        isFirst: Boolean,
    ): Int {
        val node = topology.nodeOf(port)
        if (!topology.isSwitch(node)) return if (isFirst) port else Topology.NONE
        val output = network.tables.ofSwitch(node).outputPort(network.lid(to))
        return if (output == SwitchTables.NO_PORT) Topology.NONE else topology.port(node, output)
    }

    private fun isAt(
        port: Int,
        to: Int,
    ) = if (topology.isSwitch(topology.nodeOf(to))) topology.nodeOf(port) == topology.nodeOf(to) else port == to

    private fun ownRate(port: Int): Int {
        val peer = topology.peer(port)
        val own = topology.rate(port)
        return LinkRates.gigabits(if (peer == Topology.NONE) own with own else own with topology.rate(peer))
    }

    private fun record(
        from: Int,
        to: Int,
        largest: Int,
        fastest: Int,
    ) = PathRecord {
        dgid = gid(to)
        sgid = gid(from)
        dlid = Lid(network.lid(to))
        slid = Lid(network.lid(from))
        reversible = true
        numbPath = 1
        pKey = 0xffff
        mtuSelector = Selector.EXACTLY
        mtu = MTU.of(largest)
        rateSelector = Selector.EXACTLY
        rate = Rate.of(fastest)
        packetLifeTimeSelector = Selector.EXACTLY
        packetLifeTime = LIFE_TIME
    }

    private companion object {
        const val MOST_LINKS = 64
        const val LIFE_TIME = 18
    }
}
