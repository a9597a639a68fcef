package org.kverbs.management.sa

import org.kverbs.management.fabric.Fabric
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.GUIDInfo
import org.kverbs.management.structures.LinearForwardingTable
import org.kverbs.management.structures.MulticastForwardingTable
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PKeyTable
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.SLtoVLMappingTable
import org.kverbs.management.structures.SwitchInfo
import org.kverbs.management.structures.VLArbitrationTable
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureType
import org.kverbs.structures.TakesGet
import org.kverbs.structures.copy

/** Compares what a node says and what the administrator says of it. */
internal class Comparison(
    private val fabric: Fabric,
    private val records: RecordedAttributes,
) {
    /** What is not the same. */
    val differences = ArrayList<String>()

    suspend fun <S> same(
        type: StructureType<S>,
        path: MadPath,
        modifier: Int = 0,
        shown: (S) -> S = { it },
    ) where S : Structure, S : TakesGet {
        val recorded = runCatching { shown(records.get(type, path, modifier)) }
        val said = runCatching { shown(fabric.get(type, path, modifier)) }
        val isSame = if (said.isFailure) recorded.isFailure else recorded == said
        if (!isSame) differences += "${type.name} $modifier of $path is recorded as $recorded, and is $said"
    }

    suspend fun node(
        node: SubnetNode,
        path: MadPath,
    ) {
        // By LID a switch is reached at any of its ports, and says at which one.
        val isAnywhere = node.isSwitch && path is LidPath
        same(NodeInfo, path) { info -> if (isAnywhere) info.copy { localPortNum = 0 } else info }
        same(NodeDescription, path)
        same(GUIDInfo, path)
        val numbers = (node.ports.map { it.number } + 0).distinct()
        for (number in numbers) {
            same(PortInfo, path, number) { info -> if (isAnywhere) info.copy { localPortNum = 0 } else info }
            same(PKeyTable, path, number shl 16)
            same(VLArbitrationTable, path, (1 shl 16) + number)
            same(VLArbitrationTable, path, (3 shl 16) + number)
            same(SLtoVLMappingTable, path, (number shl 8) + numbers.last())
        }
        if (node.isSwitch) switch(node, path)
    }

    private suspend fun switch(
        node: SubnetNode,
        path: MadPath,
    ) {
        same(SwitchInfo, path)
        for (block in 0..2) same(LinearForwardingTable, path, block)
        for (position in 0..node.portCount / 16) {
            for (block in 0..2) same(MulticastForwardingTable, path, (position shl 28) + block)
        }
    }
}
