package org.kverbs.management.simulation

import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortInfo
import org.kverbs.structures.Guid
import java.nio.ByteBuffer
import java.nio.ByteOrder

/** Answers the control questions of a program at a port: what libumad2sim shows the program in place of the kernel. */
internal class IbsimAnswers(
    private val network: Network,
    private val end: Int,
) {
    private val topology = network.topology

    fun answer(question: IbsimQuestion): ByteBuffer {
        val data =
            when (question.type) {
                IbsimQuestion.GET_PORT -> port()
                IbsimQuestion.GET_VENDOR -> vendor()
                IbsimQuestion.GET_GID -> gid()
                IbsimQuestion.GET_GUID -> guid()
                IbsimQuestion.GET_NODE_INFO -> nodeInfo()
                IbsimQuestion.GET_PORT_INFO -> portInfo(question.selected)
                IbsimQuestion.GET_P_KEYS -> partitionKeys()
                else -> null
            }
        return if (data == null) question.refused() else question.answered(data)
    }

    private fun numbers(write: ByteBuffer.() -> Unit): ByteArray {
        val buffer = ByteBuffer.allocate(IbsimQuestion.DATA_SIZE).order(ByteOrder.nativeOrder())
        buffer.write()
        return buffer.array()
    }

    private fun port(): ByteArray =
        numbers {
            putShort(network.lid(network.endPort(end)).toShort())
            put(network.state(end).toByte())
            put(network.lmc(end).toByte())
        }

    /** The port with this number; the program's own for a number that the node has not. */
    private fun numbered(number: Int): Int? {
        val port = if (number == 0) end else topology.port(topology.nodeOf(end), number)
        return port.takeIf { it != Topology.NONE }
    }

    private fun vendor(): ByteArray =
        numbers {
            val spec = topology.specOf(end)
            putInt(spec.vendor)
            putInt(spec.device)
            putInt(Identity.REVISION.toInt())
            putLong(FIRMWARE_AT, FIRMWARE)
        }

    private fun gid() =
        ByteArray(GID_SIZE).also {
            Wire.put64(it, 0, LINK_LOCAL)
            Wire.put64(it, Long.SIZE_BYTES, network.portGuid(end))
        }

    private fun guid() = ByteArray(Long.SIZE_BYTES).also { Wire.put64(it, 0, network.portGuid(end)) }

    /** The library adds the number of the port to its GUID. */
    private fun nodeInfo(): ByteArray {
        val data = ByteArray(IbsimQuestion.DATA_SIZE)
        Identity.write(network, end, data, 0)
        NodeInfo.at(data).apply { portGUID = Guid(portGUID.value - topology.numberOf(end)) }
        return data
    }

    private fun portInfo(number: Int): ByteArray {
        val port = numbered(number) ?: end
        val data = ByteArray(Network.PORT_INFO_SIZE)
        network.portInfo(port, data, 0)
        PortInfo.at(data).localPortNum = topology.numberOf(end)
        return data
    }

    private fun partitionKeys() = ByteArray(IbsimQuestion.DATA_SIZE).also { network.tables.keys(end, 0, it, 0) }

    private companion object {
        const val FIRMWARE = 1L

        /** A C compiler aligns the 64 bits. */
        const val FIRMWARE_AT = 16
        const val GID_SIZE = 16
        const val LINK_LOCAL = 0xfe80L shl 48
    }
}
