package org.kverbs.management.subnet

import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortInfoExtended
import org.kverbs.management.structures.SwitchInfo
import org.kverbs.structures.Guid

/**
 * Returns the subnet with other GUIDs, to give a saved topology those of exchanged hardware. All else is the same.
 *
 * ```
 * loadSubnet(file).withGuids { switch(old, new) }.save(file)
 * ```
 *
 * @throws IllegalArgumentException if a GUID to change is not there, or two nodes have the same GUID in the end
 */
public fun Subnet.withGuids(change: GuidChanges.() -> Unit): Subnet =
    Subnet(EditGuids(data, GuidChanges(this).apply(change)).edit())

/** Rewrites the arrays of a subnet: nodes are in the order of their GUIDs, which are others now. */
private class EditGuids(
    private val old: SubnetData,
    private val changes: GuidChanges,
) {
    private val newGuids = old.guids.map { changes.nodes[Guid(it)]?.value ?: it }

    /** The old indexes of the nodes in their new order. */
    private val nodes = newGuids.indices.sortedBy { newGuids[it] }

    /** The old indexes of the ports in their new order. */
    private val ports = nodes.flatMap { old.ports(it) }
    private val newPorts = IntArray(ports.size).also { ports.forEachIndexed { index, port -> it[port] = index } }

    fun edit(): SubnetData {
        val twice =
            nodes
                .zipWithNext()
                .firstOrNull { (a, b) -> newGuids[a] == newGuids[b] }
                ?.let { (a, _) -> Guid(newGuids[a]) }
        require(twice == null) { "two nodes would have the GUID $twice" }
        val extended = old.extendedPorts.indices.sortedBy { moved(old.extendedPorts[it]) }
        return SubnetData(
            guids = LongArray(nodes.size) { newGuids[nodes[it]] },
            nodeInfos = nodeInfos(),
            descriptions = picked(old.descriptions, nodes, NodeDescription.byteSize),
            switchInfos = picked(old.switchInfos, nodes, SwitchInfo.byteSize),
            nodeFlags = picked(old.nodeFlags, nodes, 1),
            firstPorts = nodes.runningFold(0) { first, node -> first + old.ports(node).count() }.toIntArray(),
            cameBy = IntArray(nodes.size) { moved(old.cameBy[nodes[it]]) },
            portNumbers = picked(old.portNumbers, ports, 1),
            portGuids = LongArray(ports.size) { portGuid(old.nodeOf(ports[it]), old.portGuids[ports[it]]) },
            portInfos = picked(old.portInfos, ports, PortInfo.byteSize),
            portFlags = picked(old.portFlags, ports, 1),
            peers = IntArray(ports.size) { moved(old.peers[ports[it]]) },
            extendedPorts = IntArray(extended.size) { moved(old.extendedPorts[extended[it]]) },
            extended = picked(old.extended, extended, PortInfoExtended.byteSize),
            here = moved(old.here),
            problems = old.problems.map { it.copy(node = it.node?.let { guid -> changes.nodes[guid] ?: guid }) },
        )
    }

    private fun moved(port: Int): Int = if (port == NONE) NONE else newPorts[port]

    private fun nodeInfos(): ByteArray {
        val all = ByteArray(old.nodeInfos.size)
        nodes.forEachIndexed { index, node -> nodeInfo(node).copyInto(all, index * NodeInfo.byteSize) }
        return all
    }

    private fun nodeInfo(node: Int): ByteArray =
        NodeInfo
            .of(old.nodeInfo(node).bytes())
            .apply {
                portGUID = Guid(portGuid(node, portGUID.value))
                nodeGUID = Guid(newGuids[node])
                systemImageGUID = changes.images[systemImageGUID] ?: systemImageGUID
            }.bytes()

    private fun portGuid(
        node: Int,
        port: Long,
    ): Long {
        val guid = Guid(old.guids[node])
        val isSwitch = old.nodeInfo(node).nodeType == NodeType.SWITCH
        val changed = if (isSwitch) changes.nodes[guid] else changes.ports[guid to Guid(port)]
        return changed?.value ?: port
    }

    private fun picked(
        bytes: ByteArray,
        indexes: List<Int>,
        size: Int,
    ): ByteArray {
        val picked = ByteArray(bytes.size)
        indexes.forEachIndexed { to, from -> bytes.copyInto(picked, to * size, from * size, (from + 1) * size) }
        return picked
    }
}
