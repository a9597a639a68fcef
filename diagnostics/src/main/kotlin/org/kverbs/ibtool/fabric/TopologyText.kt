package org.kverbs.ibtool.fabric

import org.kverbs.ibtool.session.NodeNames
import org.kverbs.ibtool.session.hex
import org.kverbs.ibtool.session.hex16
import org.kverbs.management.structures.NodeType
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.management.subnet.SubnetPort

/**
 * The lines of ibnetdiscover's topology, which ibsim reads.
 *
 * @property isFull whether links have their speed, width and virtual lanes as numbers, too
 */
internal class TopologyText(
    private val names: NodeNames,
    private val isFull: Boolean,
    private val chassis: ChassisNumbers?,
) {
    /** The head of a node, which begins with an empty line. [idPrefix] stands before ids, [prefix] before the name. */
    fun node(
        node: SubnetNode,
        idPrefix: String = "",
        prefix: String = "",
    ): String =
        buildString {
            ids(node, idPrefix)
            if (node.isSwitch) {
                append("${idPrefix}switchguid=0x${hex(node.guid.value)}(${hex(node.info.portGUID.value)})")
                chassis?.let { append("\t# ").append(it.typeAndSlot(node)) }
            } else {
                append("$idPrefix${if (node.type == NodeType.ROUTER) "rt" else "ca"}guid=0x${hex(node.guid.value)}")
            }
            append('\n').append(detail(node, prefix)).append('\n')
        }

    private fun StringBuilder.ids(
        node: SubnetNode,
        prefix: String,
    ) {
        val image = node.systemImageGuid.value
        val number = chassis?.of(node)
        append("\n${prefix}vendid=0x${hex(node.info.vendorID)}\n")
        append("${prefix}devid=0x${hex(node.info.deviceID)}\n")
        if (image != 0L) append("${prefix}sysimgguid=0x${hex(image)}")
        if (number != null) append("\t\t# Chassis $number")
        if (image != 0L || number != null) append('\n')
    }

    /** The line with a node's name, without its end. */
    fun detail(
        node: SubnetNode,
        prefix: String,
    ): String {
        if (!node.isSwitch) {
            val kind = if (node.type == NodeType.ROUTER) "Rt" else "Ca"
            return "$prefix$kind\t${node.portCount} ${id(node)}\t\t# \"${NodeNames.clean(node.nodeDescription)}\""
        }
        val kind = if (node.switchInfo?.enhancedPort0 == true) "enhanced" else "base"
        val management = node.port(0)
        return "${prefix}Switch\t${node.portCount} ${id(node)}\t\t# \"${names.of(node)}\" $kind port 0 " +
            "lid ${management?.lid?.value ?: 0} lmc ${management?.lmc ?: 0}"
    }

    /** The lines of all ports of a node that have a link. */
    fun ports(node: SubnetNode): String = node.ports.filter { it.number > 0 }.joinToString("") { port(it, "") }

    /** The line of a port; empty if it has no link. */
    fun port(
        port: SubnetPort,
        prefix: String,
    ): String {
        val peer = port.peer ?: return ""
        return if (port.node.isSwitch) ofSwitch(port, peer, prefix) else ofAdapter(port, peer, prefix)
    }

    private fun ofSwitch(
        port: SubnetPort,
        peer: SubnetPort,
        prefix: String,
    ): String {
        val guid = if (peer.node.isSwitch) "" else "(${hex(peer.guid.value)}) "
        return "$prefix[${port.number}]${external(port)}\t${id(peer.node)}[${peer.number}]${external(peer)}$guid" +
            "\t\t# \"${names.of(peer.node)}\" lid ${peer.lid.value} ${rate(port)}\n"
    }

    private fun ofAdapter(
        port: SubnetPort,
        peer: SubnetPort,
        prefix: String,
    ): String {
        val guid = if (peer.node.isSwitch) "" else " (${hex(peer.guid.value)}) "
        return "$prefix[${port.number}](${hex(port.guid.value)}) \t${id(peer.node)}[${peer.number}]" +
            "${external(peer)}$guid\t\t# lid ${port.lid.value} lmc ${port.lmc} \"${names.of(peer.node)}\" " +
            "lid ${peer.lid.value} ${rate(port)}\n"
    }

    private fun external(port: SubnetPort): String = chassis?.externalPort(port)?.let { "[ext $it]" } ?: ""

    private fun rate(port: SubnetPort): String {
        val info = port.info
        val numbers =
            if (isFull) {
                " s=${info?.linkSpeedActive?.value ?: 0} w=${info?.linkWidthActive?.value ?: 0} " +
                    "v=${info?.vlCap?.value ?: 0}"
            } else {
                ""
            }
        return "${LinkText.width(port)}${LinkText.speed(port)}$numbers"
    }

    companion object {
        /** `"S-0002c90200000010"`, with its quotation marks. */
        fun id(node: SubnetNode): String {
            val kind =
                when (node.type) {
                    NodeType.SWITCH -> 'S'
                    NodeType.CA -> 'H'
                    NodeType.ROUTER -> 'R'
                    else -> '?'
                }
            return "\"$kind-${hex16(node.guid.value)}\""
        }
    }
}
