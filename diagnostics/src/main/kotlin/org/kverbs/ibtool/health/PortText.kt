package org.kverbs.ibtool.health

import org.kverbs.ibtool.session.NodeNames
import org.kverbs.ibtool.session.hex16
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.management.subnet.SubnetPort

/** Nodes and ports in sentences, in printable ASCII characters alone. */
internal class PortText(
    private val names: NodeNames,
) {
    /** `"leaf" 0x0002c90200000040`. */
    fun of(node: SubnetNode): String = "\"${safe(names.of(node))}\" 0x${hex16(node.guid.value)}"

    /** `"leaf" 0x0002c90200000040 port 3`. */
    fun of(port: SubnetPort): String = "${of(port.node)} port ${port.number}"

    companion object {
        /** Takes out what moves a cursor, and the bar, behind which Nagios reads performance data. */
        fun safe(text: String): String = text.map { if (it in ' '..'~' && it != '|') it else '?' }.joinToString("")
    }
}
