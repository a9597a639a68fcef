package org.kverbs.ibtool.fabric

import org.kverbs.ibtool.session.NodeNames
import org.kverbs.ibtool.session.number
import org.kverbs.management.subnet.SubnetNode

/** Finds nodes of a discovered fabric by what a command line names them. */
internal class NamedNodes(
    private val names: NodeNames,
) {
    /** The nodes of [nodes] with the GUID [text], or with this name in the map or of their own. */
    fun find(
        nodes: List<SubnetNode>,
        text: String,
    ): List<SubnetNode> {
        val guid = if (guids.matches(text)) number(if (text.startsWith("0x")) text else "0x$text") else null
        return nodes.filter { node ->
            node.guid.value == guid || names.of(node) == text || NodeNames.clean(node.nodeDescription) == text
        }
    }

    private companion object {
        private val guids = Regex("0x\\p{XDigit}{1,16}|\\p{XDigit}{14,16}")
    }
}
