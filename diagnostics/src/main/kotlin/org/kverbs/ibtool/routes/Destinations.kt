package org.kverbs.ibtool.routes

import org.kverbs.ibtool.session.NodeNames
import org.kverbs.management.subnet.Subnet
import org.kverbs.structures.Lid

/** The destinations of a discovered fabric. Each is made once, whatever the number of tables that lead to it. */
internal class Destinations(
    private val subnet: Subnet,
    private val names: NodeNames,
) {
    private val known = HashMap<Int, Destination?>()

    /** What has a LID, or null. */
    fun of(lid: Int): Destination? = known.getOrPut(lid) { find(lid) }

    private fun find(lid: Int): Destination? {
        val port = subnet.port(Lid(lid)) ?: return null
        val node = port.node
        return Destination(Destination.type(node.info), port.guid.value, names.of(node), port.lid.value, port.lmc)
    }
}
