package org.kverbs.management.simulation

import org.kverbs.attributes.Gid
import org.kverbs.management.structures.MTU
import org.kverbs.management.structures.PathRecord
import org.kverbs.management.structures.Rate
import org.kverbs.management.structures.Selector
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
        var mtu = minOf(network.mtu(from), network.mtu(to))
        var rate = Int.MAX_VALUE
        var port = from
        var links = 0
        while (!isAt(port, to)) {
            val node = topology.nodeOf(port)
            val next =
                if (topology.isSwitch(node)) {
                    val output = network.tables.ofSwitch(node).outputPort(network.lid(to))
                    if (output == SwitchTables.NO_PORT) Topology.NONE else topology.port(node, output)
                } else {
                    if (links > 0) Topology.NONE else port
                }
            val peer = if (next == Topology.NONE) Topology.NONE else network.far(next)
            if (peer == Topology.NONE || links++ > MOST_LINKS) return null
            mtu = minOf(mtu, network.mtu(next), network.mtu(peer))
            rate = minOf(rate, LinkRates.gigabits(topology.rate(next) with topology.rate(peer)))
            port = peer
        }
        if (links == 0) rate = ownRate(from)
        return record(from, to, mtu, LinkRates.code(rate))
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
