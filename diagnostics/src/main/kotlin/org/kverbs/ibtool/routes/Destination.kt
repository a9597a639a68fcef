package org.kverbs.ibtool.routes

import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType

/** What has a LID, as tables of routes name it. */
internal class Destination(
    val type: String,
    val guid: Long,
    val name: String,
    val firstLid: Int,
    val lmc: Int,
) {
    companion object {
        /** The type of a node in infiniband-diags' words. */
        fun type(node: NodeInfo): String =
            when (node.nodeType) {
                NodeType.CA -> "Channel Adapter"
                NodeType.SWITCH -> "Switch"
                NodeType.ROUTER -> "Router"
                else -> "?(${node.nodeType.value})?"
            }
    }
}
