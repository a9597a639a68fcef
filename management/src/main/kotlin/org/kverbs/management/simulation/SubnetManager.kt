package org.kverbs.management.simulation

import org.kverbs.management.structures.MTU
import org.kverbs.management.structures.PortCapabilityMask
import org.kverbs.management.structures.SMInfo
import org.kverbs.management.structures.SMState
import org.kverbs.structures.Guid
import org.kverbs.structures.Lid
import java.util.BitSet

private const val IS_SM = 1 shl 1

/**
 * The subnet manager of a simulated fabric. It writes to the network what a real one sends in SMPs: LIDs, forwarding
 * tables, and the state of the ports.
 *
 * @property port the port at which the manager and its subnet administrator are
 */
internal class SubnetManager(
    private val network: Network,
    val port: Int,
    val priority: Int,
) {
    private val topology = network.topology

    /** How many sweeps and questions there were: what SMInfo counts. */
    var activity = 0L

    /** The end ports of the subnet by their LIDs, after a sweep. */
    var subnet = Subnet(network, IntArray(0), port)
        private set

    /** Looks at the whole fabric, and configures what it finds. LIDs that are unique stay. */
    fun sweep() {
        activity++
        val reached = reach()
        val byLid = assign(reached)
        subnet = Subnet(network, byLid, port)
        Routing(network, reached.filter(topology::isSwitch), byLid).fill()
        val lid = network.lid(network.endPort(port))
        for (node in reached) {
            if (topology.isSwitch(node)) network.tables.ofSwitch(node).hasStateChange = false
            for (number in 0..topology.node(node).ports) configure(topology.port(node, number), lid)
        }
        network.edit(network.endPort(port)) {
            capabilityMask = PortCapabilityMask.of(capabilityMask.value or IS_SM)
        }
    }

    /** The nodes that can be reached, the nearest first. Hosts and routers pass nothing on. */
    private fun reach(): List<Int> {
        val seen = BitSet()
        val found = ArrayList<Int>()
        val start = topology.nodeOf(port)
        seen.set(start)
        found += start
        var next = 0
        while (next < found.size) {
            val node = found[next++]
            val ports =
                if (topology.isSwitch(node)) 1..topology.node(node).ports else port(node)..port(node)
            if (!topology.isSwitch(node) && node != start) continue
            for (number in ports) {
                val peer = network.far(topology.port(node, number))
                if (peer == Topology.NONE) continue
                val far = topology.nodeOf(peer)
                if (!seen[far]) {
                    seen.set(far)
                    found += far
                }
            }
        }
        return found
    }

    private fun port(node: Int) = if (node == topology.nodeOf(port)) topology.numberOf(port) else 0

    private fun endPorts(reached: List<Int>): List<Int> =
        reached.flatMap { node ->
            if (topology.isSwitch(node)) {
                listOf(topology.port(node, 0))
            } else {
                (1..topology.node(node).ports)
                    .map { topology.port(node, it) }
                    .filter { network.far(it) != Topology.NONE }
            }
        }

    /** Returns the end port of each LID, or NONE. The first of several ports with one LID keeps it. */
    private fun assign(reached: List<Int>): IntArray {
        val ends = endPorts(reached)
        check(ends.size <= LAST_LID) {
            "the subnet has ${ends.size} ports that need a LID, but there are only $LAST_LID LIDs; ask a fabric of " +
                "that size by directed routes, without a subnet manager"
        }
        val byLid = IntArray(LAST_LID + 1) { Topology.NONE }
        val without = ArrayList<Int>()
        for (end in ends) {
            val lid = network.lid(end)
            network.setLmc(end, 0)
            if (Lid(lid).isUnicast && byLid[lid] == Topology.NONE) byLid[lid] = end else without += end
        }
        var free = 1
        for (end in without) {
            while (byLid[free] != Topology.NONE) free++
            byLid[free] = end
            network.setLid(end, free)
        }
        val top = byLid.indexOfLast { it != Topology.NONE }
        return byLid.copyOf(top + 1)
    }

    private fun configure(
        end: Int,
        managerLid: Int,
    ) {
        val peer = network.far(end)
        val isEnd = network.endPort(end) == end
        val isLinked = peer != Topology.NONE
        if (isEnd && (isLinked || topology.isSwitch(topology.nodeOf(end)))) network.setSubnetManagerLid(end, managerLid)
        if (!isLinked) return
        network.setState(end, Network.ACTIVE)
        network.setState(peer, Network.ACTIVE)
        val mtu = minOf(network.mtu(end), network.mtu(peer))
        network.edit(end) { neighborMTU = MTU.of(mtu) }
    }

    /** Whether the datagram asks this manager what it is. */
    fun takes(
        end: Int,
        mad: ByteArray,
    ): Boolean =
        Mads.isSubnetManagement(mad) && Mads.attribute(mad) == Smps.SM_INFO &&
            network.endPort(end) == network.endPort(port)

    /** Answers SMInfo. It is the master, and no other manager makes it anything else. */
    fun answer(mad: ByteArray) {
        val isGet = Mads.method(mad) == Mads.GET
        if (isGet) {
            activity++
            mad.fill(0, Mads.DATA, Mads.DATA + Mads.DATA_SIZE)
            SMInfo.at(mad, Mads.DATA).apply(::describe)
        }
        Mads.answer(mad, if (isGet) 0 else Mads.ATTRIBUTE_UNSUPPORTED)
    }

    fun describe(info: SMInfo) {
        info.guid = Guid(network.portGuid(port))
        info.actCount = activity and 0xffffffffL
        info.priority = priority
        info.smState = SMState.MASTER
    }

    private companion object {
        const val LAST_LID = 0xbfff
    }
}
