package org.kverbs.management.check

import org.kverbs.management.subnet.ForwardingTables
import org.kverbs.management.subnet.NONE
import org.kverbs.management.subnet.SubnetPort
import org.kverbs.structures.Lid

private const val LIDS = 0xc000
private const val NO_PORT = 0xff

/** Switches, the links between them and their tables in arrays. Nodes and ports are indexes into the subnet's. */
internal class RouteGraph(
    val tables: ForwardingTables,
) {
    val subnet = tables.subnet
    private val data = subnet.data
    val nodeCount = data.nodeCount
    val portCount = data.portCount
    private val isSwitch = BooleanArray(nodeCount) { subnet.nodes[it].isSwitch }
    private val nodes = IntArray(portCount)

    /** The switches. */
    val switches: IntArray = (0 until nodeCount).filter { isSwitch[it] }.toIntArray()

    /** The ports of hosts and routers that are linked with a switch and have a LID, by the node of that switch. */
    val ends: Map<Int, List<Int>>

    /** How many such ports have no LID. */
    val portsWithoutLid: Int

    private val linear = arrayOfNulls<ByteArray>(nodeCount)

    init {
        for (node in 0 until nodeCount) for (port in data.ports(node)) nodes[port] = node
        for (switch in switches) linear[switch] = tables.table(switch)
        val (known, unknown) = (0 until portCount).filter { isEnd(it) }.partition { at(it).lid.isUnicast }
        ends = known.groupBy { nodes[data.peers[it]] }
        portsWithoutLid = unknown.size
    }

    private fun isEnd(port: Int): Boolean {
        val peer = data.peers[port]
        return !isSwitch[nodes[port]] && peer != NONE && isSwitch[nodes[peer]]
    }

    fun at(port: Int): SubnetPort = SubnetPort(subnet, port)

    fun nodeOf(port: Int): Int = nodes[port]

    fun number(port: Int): Int = data.number(port)

    fun ports(switch: Int): IntRange = data.ports(switch)

    /** The port of a switch with this number, or [NONE]. */
    fun port(
        switch: Int,
        number: Int,
    ): Int = data.port(switch, number)

    fun peer(port: Int): Int = data.peers[port]

    /** The switch behind a port, or [NONE] if there is none. */
    fun switchBehind(port: Int): Int {
        val peer = data.peers[port]
        return if (peer == NONE || !isSwitch[nodes[peer]]) NONE else nodes[peer]
    }

    /** The port to which a switch leads a LID, or [NONE]. */
    fun out(
        switch: Int,
        lid: Int,
    ): Int {
        val table = linear[switch] ?: return NONE
        if (lid >= table.size) return NONE
        val number = table[lid].toInt() and NO_PORT
        return if (number == NO_PORT || number == 0) NONE else data.port(switch, number)
    }

    /** The LIDs of the port of a host or router. */
    fun lids(end: Int): IntRange {
        val port = at(end)
        val first = port.lid.value
        return first until minOf(first + (1 shl port.lmc), LIDS)
    }

    fun lid(number: Int): Lid = Lid(number)
}
