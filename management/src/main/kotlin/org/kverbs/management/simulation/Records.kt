package org.kverbs.management.simulation

import org.kverbs.management.structures.GuidInfoRecord
import org.kverbs.management.structures.LinearForwardingTableRecord
import org.kverbs.management.structures.LinkRecord
import org.kverbs.management.structures.MulticastForwardingTableRecord
import org.kverbs.management.structures.NodeRecord
import org.kverbs.management.structures.PKeyTableRecord
import org.kverbs.management.structures.PortInfoRecord
import org.kverbs.management.structures.RandomForwardingTableRecord
import org.kverbs.management.structures.SLtoVLMappingTableRecord
import org.kverbs.management.structures.SMInfoRecord
import org.kverbs.management.structures.SwitchInfoRecord
import org.kverbs.management.structures.VLArbitrationTableRecord
import org.kverbs.structures.Lid
import org.kverbs.structures.RecordType
import org.kverbs.structures.Structure
import java.lang.foreign.MemorySegment

private const val POSITIONS = 16

/** Records of one type: all that a subnet has, or those of the port with one LID. */
internal class RecordSource(
    val type: RecordType<*>,
    /** The bit in the component mask of the LID, which is the first field of each of these records. */
    val lidBit: Int = 0,
    val records: (ends: Sequence<Int>) -> Sequence<Structure>,
)

/**
 * The records of subnet administration that repeat what the nodes themselves answer. They are made for each
 * query from the same agents, so that both say the same.
 */
internal class Records(
    private val network: Network,
    private val agent: SubnetAgent,
    private val manager: SubnetManager,
) {
    private val topology = network.topology

    /** The sources by the number of the attribute. The first question makes them: that reads all descriptions. */
    val sources: Map<Int, RecordSource> by lazy {
        listOf(
            RecordSource(NodeRecord) { ends -> ends.map(::node) },
            RecordSource(PortInfoRecord) { ends -> ends.flatMap { end -> ports(end).map { portInfo(end, it) } } },
            RecordSource(SwitchInfoRecord) { ends -> switches(ends).map(::switchInfo) },
            RecordSource(LinearForwardingTableRecord) { ends -> switches(ends).flatMap(::linear) },
            // The switches have no tables of that kind.
            RecordSource(RandomForwardingTableRecord) { emptySequence() },
            RecordSource(MulticastForwardingTableRecord) { ends -> switches(ends).flatMap(::multicast) },
            RecordSource(SLtoVLMappingTableRecord) { ends -> ends.flatMap(::lanes) },
            RecordSource(VLArbitrationTableRecord) { ends -> ends.flatMap(::arbitration) },
            RecordSource(PKeyTableRecord) { ends -> ends.flatMap(::keys) },
            RecordSource(GuidInfoRecord) { ends -> ends.flatMap(::guids) },
            RecordSource(LinkRecord) { ends -> ends.flatMap { end -> ports(end).mapNotNull { link(end, it) } } },
            RecordSource(SMInfoRecord) { ends -> ends.filter { it == network.endPort(manager.port) }.map(::smInfo) },
        ).associateBy { checkNotNull(it.type.attributeId) }
    }

    private fun lid(end: Int) = Lid(network.lid(end))

    /** The ports of the node with this end port that go by its LID. */
    private fun ports(end: Int): Sequence<Int> {
        val node = topology.nodeOf(end)
        if (!topology.isSwitch(node)) return sequenceOf(end)
        return (0..topology.node(node).ports).asSequence().map { topology.port(node, it) }
    }

    private fun switches(ends: Sequence<Int>) = ends.filter { topology.isSwitch(topology.nodeOf(it)) }

    /** Copies what the agent at a port says to a part of a record. */
    private fun copy(
        port: Int,
        attribute: Int,
        modifier: Int,
        to: Structure,
    ) {
        val said = agent.read(port, attribute, modifier) ?: return
        to.memory.copyFrom(MemorySegment.ofArray(said).asSlice(Mads.DATA.toLong(), to.memory.byteSize()))
    }

    private fun node(end: Int) =
        NodeRecord {
            lid = lid(end)
            copy(end, Smps.NODE_INFO, 0, nodeInfo)
            copy(end, Smps.NODE_DESCRIPTION, 0, nodeDescription)
        }

    private fun portInfo(
        end: Int,
        port: Int,
    ) = PortInfoRecord {
        endportLID = lid(end)
        portNum = topology.numberOf(port)
        copy(end, Smps.PORT_INFO, topology.numberOf(port), portInfo)
        // The administrator shows no management keys.
        portInfo.mKey = 0
        portInfo.localPortNum = topology.numberOf(port)
    }

    private fun switchInfo(end: Int) =
        SwitchInfoRecord {
            lid = lid(end)
            copy(end, Smps.SWITCH_INFO, 0, switchInfo)
        }

    private fun linear(end: Int): Sequence<Structure> {
        val top = network.tables.ofSwitch(topology.nodeOf(end)).linearTop
        return (0..top / SwitchTables.BLOCK).asSequence().map { block ->
            LinearForwardingTableRecord {
                lid = lid(end)
                blockNum = block
                copy(end, Smps.LINEAR_FORWARDING, block, linearForwardingTable)
            }
        }
    }

    private fun multicast(end: Int): Sequence<Structure> {
        val known = network.tables.ofSwitch(topology.nodeOf(end)).multicastBlocks()
        return known.asSequence().map { key ->
            MulticastForwardingTableRecord {
                lid = lid(end)
                position = key % POSITIONS
                blockNum = key / POSITIONS
                copy(end, Smps.MULTICAST_FORWARDING, (position shl 28) or blockNum, multicastForwardingTable)
            }
        }
    }

    private fun lanes(end: Int): Sequence<Structure> =
        ports(end).flatMap { input ->
            ports(end).map { output ->
                SLtoVLMappingTableRecord {
                    lid = lid(end)
                    // An adapter has one table, for port 0 and 0.
                    val isSwitch = topology.isSwitch(topology.nodeOf(end))
                    inputPortNum = if (isSwitch) topology.numberOf(input) else 0
                    outputPortNum = if (isSwitch) topology.numberOf(output) else 0
                    copy(end, Smps.SL_TO_VL, (inputPortNum shl 8) or outputPortNum, slToVLMappingTable)
                }
            }
        }

    private fun arbitration(end: Int): Sequence<Structure> =
        ports(end).flatMap { port ->
            sequenceOf(1, 3).map { part ->
                VLArbitrationTableRecord {
                    lid = lid(end)
                    outputPortNum = topology.numberOf(port)
                    blockNum = part
                    copy(end, Smps.VL_ARBITRATION, (part shl 16) or topology.numberOf(port), vlArbitrationTable)
                }
            }
        }

    private fun keys(end: Int): Sequence<Structure> =
        ports(end).flatMap { port ->
            val blocks = (network.tables.keyCapacity(port) + KEYS_IN_BLOCK - 1) / KEYS_IN_BLOCK
            (0 until blocks).asSequence().map { block ->
                PKeyTableRecord {
                    lid = lid(end)
                    blockNum = block
                    portNum = topology.numberOf(port)
                    copy(end, Smps.P_KEY_TABLE, (portNum shl 16) or block, pKeyTable)
                }
            }
        }

    /** The first block, and those in which something is set. */
    private fun guids(end: Int): Sequence<Structure> {
        val blocks = maxOf(1, (network.guidCapacity(end) + GUIDS_IN_BLOCK - 1) / GUIDS_IN_BLOCK)
        return (0 until blocks)
            .asSequence()
            .map { block ->
                GuidInfoRecord {
                    lid = lid(end)
                    blockNum = block
                    copy(end, Smps.GUID_INFO, block, guidInfo)
                }
            }.filter { record -> record.blockNum == 0 || record.guidInfo.bytes().any { it != 0.toByte() } }
    }

    private fun link(
        end: Int,
        port: Int,
    ): Structure? {
        val peer = network.far(port)
        if (peer == Topology.NONE) return null
        return LinkRecord {
            fromLID = lid(end)
            fromPort = topology.numberOf(port)
            toPort = topology.numberOf(peer)
            toLID = lid(network.endPort(peer))
        }
    }

    private fun smInfo(end: Int) =
        SMInfoRecord {
            lid = lid(end)
            manager.describe(smInfo)
        }

    private companion object {
        const val KEYS_IN_BLOCK = 32
        const val GUIDS_IN_BLOCK = 8
    }
}
