package org.kverbs.management.simulation

import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.structures.Guid

/** Writes NodeInfo: the type, the GUIDs and the number of ports of a node. */
internal object Identity {
    const val KEYS_OF_HOST = 64
    const val KEYS_OF_SWITCH = 8
    const val KEYS_OF_SWITCH_PORT = 64
    const val REVISION = 0xa1L

    fun write(
        network: Network,
        port: Int,
        mad: ByteArray,
        offset: Int,
    ) {
        val topology = network.topology
        val node = topology.nodeOf(port)
        val spec = topology.node(node)
        mad.fill(0, offset, offset + Mads.DATA_SIZE)
        NodeInfo.at(mad, offset).apply {
            baseVersion = 1
            classVersion = 1
            nodeType = NodeType.of(spec.kind)
            numPorts = spec.ports
            systemImageGUID = Guid(spec.systemGuid ?: network.nodeGuid(node))
            nodeGUID = Guid(network.nodeGuid(node))
            portGUID = Guid(network.portGuid(port))
            partitionCap = if (spec.kind == Kind.SWITCH) KEYS_OF_SWITCH else KEYS_OF_HOST
            deviceID = spec.device
            revision = REVISION
            localPortNum = topology.numberOf(port)
            vendorID = spec.vendor
        }
    }
}
