package org.kverbs.management.subnet

import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.structures.LinkRecord
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeRecord
import org.kverbs.management.structures.NodeType
import org.kverbs.structures.Lid

/** A port as the records of the subnet administrator name it. */
internal data class LidAndPort(
    val lid: Lid,
    val port: Int,
)

/**
 * The LIDs of all nodes, and the links between them, as the subnet administrator knows them. This program's port has
 * the LID [here].
 */
internal class RecordedLinks(
    private val here: Lid,
    nodes: List<NodeRecord>,
    links: List<LinkRecord>,
) {
    private val records = nodes.associateBy { it.lid.value }
    private val ends = links.associate { LidAndPort(it.fromLID, it.fromPort) to LidAndPort(it.toLID, it.toPort) }

    /** The LIDs of switches by their GUIDs, and of other ports by the GUIDs of their nodes and their numbers. */
    private val lids = nodes.associate { (it.nodeInfo.nodeGUID.value to addressed(it.nodeInfo)) to it.lid }

    /** The GUIDs of all nodes. */
    val guids: Set<Long> = nodes.map { it.nodeInfo.nodeGUID.value }.toSet()

    private fun addressed(info: NodeInfo): Int = if (info.nodeType == NodeType.SWITCH) 0 else info.localPortNum

    /** The record of this program's port. */
    fun first(): NodeRecord = checkNotNull(node(here)) { "the subnet administrator has no record of the own LID $here" }

    fun node(lid: Lid): NodeRecord? = records[lid.value]

    fun lid(port: FoundPort): Lid {
        val number = if (port.node.isSwitch) 0 else port.number
        return lids[port.node.guid to number] ?: throw NoRecordException("NodeRecord")
    }

    /** The other end of the link of a port. */
    fun behind(port: FoundPort): LidAndPort =
        ends[LidAndPort(lid(port), port.number)] ?: throw NoRecordException("LinkRecord")

    companion object {
        /** Asks for all records of both kinds, at once. */
        suspend fun fetch(fabric: Fabric): RecordedLinks =
            coroutineScope {
                val nodes = async { fabric.sa.records<NodeRecord>() }
                val links = async { fabric.sa.records<LinkRecord>() }
                RecordedLinks(fabric.port().info.lid, nodes.await(), links.await())
            }
    }
}
