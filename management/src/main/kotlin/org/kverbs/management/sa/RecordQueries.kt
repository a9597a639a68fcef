package org.kverbs.management.sa

import org.kverbs.management.structures.GUIDInfo
import org.kverbs.management.structures.GuidInfoRecord
import org.kverbs.management.structures.LinearForwardingTable
import org.kverbs.management.structures.LinearForwardingTableRecord
import org.kverbs.management.structures.MulticastForwardingTable
import org.kverbs.management.structures.MulticastForwardingTableRecord
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeRecord
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PKeyTable
import org.kverbs.management.structures.PKeyTableRecord
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortInfoRecord
import org.kverbs.management.structures.SAStatus
import org.kverbs.management.structures.SLtoVLMappingTable
import org.kverbs.management.structures.SLtoVLMappingTableRecord
import org.kverbs.management.structures.SMInfo
import org.kverbs.management.structures.SMInfoRecord
import org.kverbs.management.structures.SwitchInfo
import org.kverbs.management.structures.SwitchInfoRecord
import org.kverbs.management.structures.VLArbitrationTable
import org.kverbs.management.structures.VLArbitrationTableRecord
import org.kverbs.management.transaction.MadClassException
import org.kverbs.structures.Lid
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureType
import org.kverbs.structures.copy
import java.util.concurrent.ConcurrentHashMap

private const val NO_PORT = 255
private const val LINEAR_BLOCK = 64
private const val POSITION_SHIFT = 28
private const val BYTE = 0xff
private const val SHORT = 0xffff

/** The highest bit of PortInfo's modifier says what the program that asks can do, not which port is meant. */
private const val WITHOUT_FLAG = 0x7fffffff

/** The attributes that records repeat. */
internal val recordedTypes: Set<StructureType<*>> =
    setOf(NodeInfo, NodeDescription, PortInfo, SwitchInfo, SMInfo, GUIDInfo, LinearForwardingTable) +
        setOf(MulticastForwardingTable, PKeyTable, SLtoVLMappingTable, VLArbitrationTable)

/** Makes an attribute and its modifier a query for the record that repeats the attribute. */
internal class RecordQueries(
    private val sa: SubnetAdministration,
) {
    /** What the nodes with these LIDs are, which says what a modifier means. */
    private val nodes = ConcurrentHashMap<Int, NodeInfo>()

    fun forget() = nodes.clear()

    suspend fun ask(
        type: StructureType<*>,
        at: RecordedPlace,
        modifier: Int,
    ): Structure =
        when (type) {
            NodeInfo -> nodeRecord(at.lid).nodeInfo.copy { at.arrival?.let { localPortNum = it } }

            NodeDescription -> nodeRecord(at.lid).nodeDescription

            PortInfo -> portInfo(at, modifier and WITHOUT_FLAG)

            SwitchInfo -> sa.get<SwitchInfoRecord> { lid = at.lid }.switchInfo

            SMInfo -> sa.get<SMInfoRecord> { lid = at.lid }.smInfo

            // Each port has a first block.
            GUIDInfo -> if (modifier == 0) guids(at.lid, 0) else orNull { guids(at.lid, modifier) } ?: GUIDInfo {}

            LinearForwardingTable -> orNull { linear(at.lid, modifier) } ?: noEntries()

            MulticastForwardingTable -> orNull { multicast(at.lid, modifier) } ?: MulticastForwardingTable {}

            PKeyTable -> orNull { keys(at.lid, modifier) } ?: PKeyTable {}

            SLtoVLMappingTable -> orNull { lanes(at.lid, modifier) } ?: SLtoVLMappingTable {}

            VLArbitrationTable -> orNull { weights(at.lid, modifier) } ?: VLArbitrationTable {}

            else -> throw IllegalArgumentException(
                "no record of subnet administration repeats ${type.name}: ask the node itself for it, by Fabric.get",
            )
        }

    private suspend fun nodeRecord(of: Lid): NodeRecord =
        sa.get<NodeRecord> { lid = of }.also { nodes[of.value] = it.nodeInfo }

    private suspend fun node(of: Lid): NodeInfo = nodes[of.value] ?: nodeRecord(of).nodeInfo

    private suspend fun isSwitch(of: Lid) = node(of).nodeType == NodeType.SWITCH

    private suspend fun portInfo(
        at: RecordedPlace,
        number: Int,
    ): PortInfo {
        val node = node(at.lid)
        val isSwitch = node.nodeType == NodeType.SWITCH
        // Without a number an adapter means the port that is asked.
        val wanted = if (number == 0 && !isSwitch) node.localPortNum else number
        val of = if (isSwitch || wanted == node.localPortNum) at.lid else lidOf(node, wanted) ?: at.lid
        val record =
            sa.get<PortInfoRecord> {
                endportLID = of
                portNum = wanted
            }
        val arrival = at.arrival ?: if (isSwitch) null else node.localPortNum
        return record.portInfo.copy { arrival?.let { localPortNum = it } }
    }

    /** Each port of an adapter has a LID of its own. */
    private suspend fun lidOf(
        node: NodeInfo,
        number: Int,
    ): Lid? =
        sa
            .records<NodeRecord> { nodeInfo.nodeGUID = node.nodeGUID }
            .firstOrNull { it.nodeInfo.localPortNum == number }
            ?.lid

    private suspend fun guids(
        of: Lid,
        block: Int,
    ): GUIDInfo =
        sa
            .get<GuidInfoRecord> {
                lid = of
                blockNum = block
            }.guidInfo

    private suspend fun linear(
        of: Lid,
        block: Int,
    ): LinearForwardingTable =
        sa
            .get<LinearForwardingTableRecord> {
                lid = of
                blockNum = block
            }.linearForwardingTable

    private fun noEntries() = LinearForwardingTable { for (index in 0 until LINEAR_BLOCK) portBlock[index] = NO_PORT }

    private suspend fun multicast(
        of: Lid,
        modifier: Int,
    ): MulticastForwardingTable =
        sa
            .get<MulticastForwardingTableRecord> {
                lid = of
                position = modifier ushr POSITION_SHIFT
                blockNum = modifier and ((1 shl POSITION_SHIFT) - 1)
            }.multicastForwardingTable

    /** An adapter has one table for each of its LIDs, and takes no number of a port. */
    private suspend fun keys(
        of: Lid,
        modifier: Int,
    ): PKeyTable {
        val isSwitch = isSwitch(of)
        return sa
            .get<PKeyTableRecord> {
                lid = of
                blockNum = modifier and SHORT
                if (isSwitch) portNum = modifier ushr Short.SIZE_BITS
            }.pKeyTable
    }

    private suspend fun lanes(
        of: Lid,
        modifier: Int,
    ): SLtoVLMappingTable {
        val isSwitch = isSwitch(of)
        return sa
            .get<SLtoVLMappingTableRecord> {
                lid = of
                if (isSwitch) inputPortNum = modifier ushr Byte.SIZE_BITS
                if (isSwitch) outputPortNum = modifier and BYTE
            }.slToVLMappingTable
    }

    private suspend fun weights(
        of: Lid,
        modifier: Int,
    ): VLArbitrationTable {
        val isSwitch = isSwitch(of)
        return sa
            .get<VLArbitrationTableRecord> {
                lid = of
                blockNum = modifier ushr Short.SIZE_BITS
                if (isSwitch) outputPortNum = modifier and SHORT
            }.vlArbitrationTable
    }

    private suspend fun <S : Structure> orNull(question: suspend () -> S): S? =
        try {
            question()
        } catch (e: MadClassException) {
            if (e.classStatus != SAStatus.NO_RECORDS.value) throw e
            null
        }
}
