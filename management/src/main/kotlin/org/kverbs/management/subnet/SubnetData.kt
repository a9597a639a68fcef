package org.kverbs.management.subnet

import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortInfoExtended
import org.kverbs.management.structures.SwitchInfo
import java.lang.foreign.MemorySegment

/** No port, no node. */
internal const val NONE = -1

/**
 * A subnet in arrays: nodes in the order of their GUIDs, and the ports of all nodes one after the other, each node's in
 * the order of their numbers. An object for each port would take several times as much memory.
 */
internal class SubnetData(
    val guids: LongArray,
    /** [NodeInfo] of each node. */
    val nodeInfos: ByteArray,
    /** [NodeDescription] of each node. */
    val descriptions: ByteArray,
    /** [SwitchInfo] of each node; zeros for other nodes. */
    val switchInfos: ByteArray,
    /** [HAS_DESCRIPTION] and [HAS_SWITCH_INFO] of each node. */
    val nodeFlags: ByteArray,
    /** The index of each node's first port, and behind the last node the number of all ports. */
    val firstPorts: IntArray,
    /** The index of the port by which the discovery left the node before; [NONE] for the first node. */
    val cameBy: IntArray,
    val portNumbers: ByteArray,
    val portGuids: LongArray,
    /** [PortInfo] of each port. */
    val portInfos: ByteArray,
    /** [HAS_PORT_INFO] and what is known of FDR10 of each port. */
    val portFlags: ByteArray,
    /** The index of the port at the other end, or [NONE]. */
    val peers: IntArray,
    /** The ports that have a [PortInfoExtended], in order, and these. */
    val extendedPorts: IntArray,
    val extended: ByteArray,
    /** The index of the port where the discovery began, or [NONE]. */
    val here: Int,
    val problems: List<SubnetProblem>,
) {
    val nodeCount: Int get() = guids.size
    val portCount: Int get() = portNumbers.size

    private val nodeInfoView = readOnly(nodeInfos)
    private val descriptionView = readOnly(descriptions)
    private val switchInfoView = readOnly(switchInfos)
    private val portInfoView = readOnly(portInfos)
    private val extendedView = readOnly(extended)

    fun nodeInfo(node: Int): NodeInfo = NodeInfo.at(nodeInfoView, node.toLong() * NodeInfo.byteSize)

    fun description(node: Int): NodeDescription =
        NodeDescription.at(descriptionView, node.toLong() * NodeDescription.byteSize)

    fun switchInfo(node: Int): SwitchInfo? =
        if (nodeFlags[node].toInt() and HAS_SWITCH_INFO == 0) {
            null
        } else {
            SwitchInfo.at(switchInfoView, node.toLong() * SwitchInfo.byteSize)
        }

    fun portInfo(port: Int): PortInfo? =
        if (hasFlag(port, HAS_PORT_INFO)) PortInfo.at(portInfoView, port.toLong() * PortInfo.byteSize) else null

    fun extended(port: Int): PortInfoExtended? {
        val at = extendedPorts.binarySearch(port)
        return if (at < 0) null else PortInfoExtended.at(extendedView, at.toLong() * PortInfoExtended.byteSize)
    }

    fun hasFlag(
        port: Int,
        flag: Int,
    ): Boolean = portFlags[port].toInt() and flag != 0

    fun number(port: Int): Int = portNumbers[port].toInt() and 0xff

    /** The index of the node with the GUID, or a negative number. */
    fun node(guid: Long): Int = guids.binarySearch(guid)

    fun nodeOf(port: Int): Int {
        val at = firstPorts.binarySearch(port)
        if (at < 0) return -at - 2
        // Nodes without ports share the index with the node behind them.
        var node = at
        while (firstPorts[node + 1] == port) node++
        return node
    }

    fun ports(node: Int): IntRange = firstPorts[node] until firstPorts[node + 1]

    /** The index of a node's port, or [NONE]. */
    fun port(
        node: Int,
        number: Int,
    ): Int {
        val ports = ports(node)
        // Switches have all their ports, from 0 on.
        val guess = ports.first + number
        if (guess in ports && number(guess) == number) return guess
        return ports.firstOrNull { number(it) == number } ?: NONE
    }

    fun isLike(other: SubnetData): Boolean =
        here == other.here && hasNodesOf(other) && hasPortsOf(other) && problems == other.problems

    private fun hasNodesOf(other: SubnetData) =
        guids.contentEquals(other.guids) && nodeInfos.contentEquals(other.nodeInfos) &&
            descriptions.contentEquals(other.descriptions) && switchInfos.contentEquals(other.switchInfos) &&
            nodeFlags.contentEquals(other.nodeFlags) && firstPorts.contentEquals(other.firstPorts) &&
            cameBy.contentEquals(other.cameBy)

    private fun hasPortsOf(other: SubnetData) =
        portNumbers.contentEquals(other.portNumbers) && portGuids.contentEquals(other.portGuids) &&
            portInfos.contentEquals(other.portInfos) && portFlags.contentEquals(other.portFlags) &&
            peers.contentEquals(other.peers) && extendedPorts.contentEquals(other.extendedPorts) &&
            extended.contentEquals(other.extended)

    companion object {
        const val HAS_DESCRIPTION = 1
        const val HAS_SWITCH_INFO = 2
        const val HAS_PORT_INFO = 1
        const val KNOWS_FDR10 = 2
        const val RUNS_FDR10 = 4

        private fun readOnly(bytes: ByteArray): MemorySegment = MemorySegment.ofArray(bytes).asReadOnly()
    }
}
