package org.kverbs.management.subnet

import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.structures.LinkRecord
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeRecord
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortInfoRecord
import org.kverbs.management.structures.SwitchInfo
import org.kverbs.management.structures.SwitchInfoRecord
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureType
import org.kverbs.structures.TakesGet

private const val PORT_BITS = 8

/** The answers that the records of the subnet administrator give. Records are not trusted more than nodes. */
internal class RecordAnswers(
    private val here: Int,
    nodes: List<NodeRecord>,
    ports: List<PortInfoRecord>,
    switches: List<SwitchInfoRecord>,
    links: List<LinkRecord>,
) : Answers {
    private val nodeRecords = nodes.associateBy { it.lid.value }
    private val portInfos = ports.associate { key(it.endportLID.value, it.portNum) to it.portInfo }
    private val switchInfos = switches.associate { it.lid.value to it.switchInfo }
    private val linkEnds = links.associate { key(it.fromLID.value, it.fromPort) to key(it.toLID.value, it.toPort) }

    /** The LIDs of switches by their GUIDs, and of other ports by the GUIDs of their nodes and their numbers. */
    private val lids = nodes.associate { (it.nodeInfo.nodeGUID.value to addressed(it.nodeInfo)) to it.lid.value }

    override val atOnce: Int = 1

    val guids: Set<Long> = nodes.map { it.nodeInfo.nodeGUID.value }.toSet()

    private fun key(
        lid: Int,
        port: Int,
    ): Int = lid shl PORT_BITS or port

    private fun addressed(info: NodeInfo): Int = if (info.nodeType == NodeType.SWITCH) 0 else info.localPortNum

    private fun lid(port: FoundPort): Int {
        val number = if (port.node.isSwitch) 0 else port.number
        return lids[port.node.guid to number] ?: throw NoRecordException("NodeRecord")
    }

    override suspend fun first(): NodeInfo =
        checkNotNull(nodeRecords[here]) { "the subnet administrator has no record of the own LID $here" }.nodeInfo

    override suspend fun behind(port: FoundPort): NodeInfo {
        val far = linkEnds[key(lid(port), port.number)] ?: throw NoRecordException("LinkRecord")
        val record = nodeRecords[far shr PORT_BITS] ?: throw NoRecordException("NodeRecord of LID ${far shr PORT_BITS}")
        return NodeInfo.of(record.nodeInfo.bytes()).apply { localPortNum = far and 0xff }
    }

    @Suppress("UNCHECKED_CAST") // Each branch answers with the structure that was asked for.
    override suspend fun <S> get(
        type: StructureType<S>,
        port: FoundPort,
        modifier: Int,
    ): S? where S : Structure, S : TakesGet {
        val lid = lid(port)
        val answer: Structure? =
            when (type) {
                NodeDescription -> nodeRecords[lid]?.nodeDescription
                SwitchInfo -> switchInfos[lid]
                PortInfo -> portInfos[key(lid, modifier)]
                else -> return null
            }
        return answer as S? ?: throw NoRecordException("record of $type")
    }

    companion object {
        /** Asks for all records of four kinds, at once. */
        suspend fun fetch(fabric: Fabric): RecordAnswers =
            coroutineScope {
                val nodes = async { fabric.sa.records<NodeRecord>() }
                val ports = async { fabric.sa.records<PortInfoRecord>() }
                val switches = async { fabric.sa.records<SwitchInfoRecord>() }
                val links = async { fabric.sa.records<LinkRecord>() }
                val here = fabric.port().info.lid
                RecordAnswers(here.value, nodes.await(), ports.await(), switches.await(), links.await())
            }
    }
}
