package org.kverbs.ibtool.fabric

import org.kverbs.ibtool.session.NodeNames
import org.kverbs.ibtool.session.hex16
import org.kverbs.ibtool.session.with
import org.kverbs.management.structures.NodeType
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.management.subnet.SubnetPort

/** `ibnetdiscover -p`: a line for each port. */
internal class PortsReport(
    private val names: NodeNames,
) {
    /** The lines of a node's ports, the last one first. */
    fun of(node: SubnetNode): String =
        node.ports
            .filter { it.number > 0 }
            .asReversed()
            .joinToString("") { line(it) }

    private fun line(port: SubnetPort): String {
        val peer = port.peer
        val own = "${end(port)} ${LinkText.width(port)} ${LinkText.speed(port)}"
        val name = names.of(port.node)
        return if (peer == null) {
            "$own${" ".repeat(36)}'$name'\n"
        } else {
            "$own - ${end(peer)} ( '$name' - '${names.of(peer.node)}' )\n"
        }
    }

    private fun end(port: SubnetPort): String {
        val kind =
            when (port.node.type) {
                NodeType.SWITCH -> "SW"
                NodeType.CA -> "CA"
                NodeType.ROUTER -> "RT"
                else -> "??"
            }
        return "%2s %5d %2d 0x%s".with(kind, port.lid.value, port.number, hex16(port.guid.value))
    }
}
