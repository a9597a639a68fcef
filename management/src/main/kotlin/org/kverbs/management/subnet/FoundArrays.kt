package org.kverbs.management.subnet

import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortInfoExtended
import org.kverbs.management.structures.SwitchInfo

/** Packs what a discovery found into the arrays of [SubnetData]. */
internal class FoundArrays(
    private val nodes: List<FoundNode>,
) {
    private val ports: List<FoundPort> = nodes.flatMap { node -> node.ports.filterNotNull() }

    fun toData(
        first: FoundPort,
        problems: List<SubnetProblem>,
    ): SubnetData {
        nodes.forEachIndexed { index, node -> node.index = index }
        ports.forEachIndexed { index, port -> port.index = index }
        val extended = ports.filter { it.extended != null }
        return SubnetData(
            guids = LongArray(nodes.size) { nodes[it].guid },
            nodeInfos = packed(nodes, NodeInfo.byteSize) { it.info.bytes() },
            descriptions = packed(nodes, NodeDescription.byteSize) { it.description },
            switchInfos = packed(nodes, SwitchInfo.byteSize) { it.switchInfo },
            nodeFlags = ByteArray(nodes.size) { flags(nodes[it]) },
            firstPorts = firstPorts(),
            cameBy = IntArray(nodes.size) { nodes[it].cameBy?.index ?: NONE },
            portNumbers = ByteArray(ports.size) { ports[it].number.toByte() },
            portGuids = LongArray(ports.size) { ports[it].guid },
            portInfos = packed(ports, PortInfo.byteSize) { it.info },
            portFlags = ByteArray(ports.size) { flags(ports[it]) },
            peers = IntArray(ports.size) { (ports[it].sees ?: ports[it].seenBy)?.index ?: NONE },
            extendedPorts = IntArray(extended.size) { extended[it].index },
            extended = packed(extended, PortInfoExtended.byteSize) { it.extended },
            here = first.index,
            problems = problems,
        )
    }

    private fun firstPorts(): IntArray {
        val firsts = IntArray(nodes.size + 1)
        nodes.forEachIndexed { index, node -> firsts[index + 1] = firsts[index] + node.ports.count { it != null } }
        return firsts
    }

    private fun flags(node: FoundNode): Byte {
        val description = if (node.description == null) 0 else SubnetData.HAS_DESCRIPTION
        val switchInfo = if (node.switchInfo == null) 0 else SubnetData.HAS_SWITCH_INFO
        return (description or switchInfo).toByte()
    }

    private fun flags(port: FoundPort): Byte =
        (if (port.info == null) port.flags else port.flags or SubnetData.HAS_PORT_INFO).toByte()

    private fun <T> packed(
        all: List<T>,
        size: Int,
        bytes: (T) -> ByteArray?,
    ): ByteArray {
        val packed = ByteArray(Math.multiplyExact(all.size, size))
        all.forEachIndexed { index, one -> bytes(one)?.copyInto(packed, index * size) }
        return packed
    }
}
