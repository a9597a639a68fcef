package org.kverbs.ibtool

import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.LinearForwardingTable
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortPhysicalState
import org.kverbs.management.structures.PortState
import org.kverbs.management.structures.SMPFormatDirected
import org.kverbs.management.structures.SwitchInfo
import org.kverbs.management.transport.MadPort
import org.kverbs.management.transport.MadReceiver
import org.kverbs.management.transport.MadTransport
import org.kverbs.structures.Guid
import org.kverbs.structures.Lid
import org.kverbs.structures.Structure

private const val DATA = 64

/**
 * A fabric that has another switch or host behind each port, without end. The tables of its switches lead to any port.
 * It answers each directed request at once, and others with an error.
 */
internal class LyingFabric : MadTransport {
    private lateinit var receiver: MadReceiver

    override fun port() = MadPort("lying", NodeInfo(), PortInfo())

    override fun receive(receiver: MadReceiver) {
        this.receiver = receiver
    }

    override fun send(
        mad: ByteArray,
        path: MadPath,
    ) {
        val answer = mad.copyOf()
        val smp = SMPFormatDirected.at(answer)
        val hops = (1..smp.madHeader.hopCount).map { smp.initialPath[it] }
        val data = data(hops, smp.madHeader.attributeID, smp.madHeader.attributeModifier.toInt())
        val isDirected = answer[1].toInt() and 0xff == DIRECTED
        MADHeader.at(answer).apply {
            method = Method.GET_RESP
            status = if (isDirected) DIRECTION else REFUSED
        }
        if (isDirected) data?.bytes()?.let { it.copyInto(answer, DATA, 0, minOf(it.size, DATA)) }
        receiver.received(answer, null)
    }

    private fun data(
        hops: List<Int>,
        attribute: Int,
        modifier: Int,
    ): Structure? {
        val number = hops.fold(1L) { hash, hop -> hash * 1_000_003 + hop }
        val isHost = hops.isNotEmpty() && number % 3 == 0L
        return when (attribute) {
            NodeInfo.attributeId -> {
                NodeInfo {
                    nodeType = if (isHost) NodeType.CA else NodeType.SWITCH
                    numPorts = if (isHost) 1 else 40
                    nodeGUID = Guid(number)
                    portGUID = Guid(number)
                    localPortNum = if (hops.isEmpty()) 0 else 1
                }
            }

            NodeDescription.attributeId -> {
                NodeDescription { nodeString = HOSTILE }
            }

            SwitchInfo.attributeId -> {
                SwitchInfo { linearFDBTop = 0x3ff }
            }

            LinearForwardingTable.attributeId -> {
                LinearForwardingTable {
                    for (at in 0 until DATA) {
                        portBlock[at] =
                            (at * 7 + number.toInt() + modifier) and 63
                    }
                }
            }

            else -> {
                PortInfo {
                    portState = PortState.ACTIVE
                    portPhysicalState = PortPhysicalState.LINK_UP
                    lid = Lid(1 + (number.toInt() and 0x3ff))
                    masterSMLID = Lid(1)
                }
            }
        }
    }

    override fun close() = Unit

    private companion object {
        private const val DIRECTED = 0x81
        private const val DIRECTION = 0x8000
        private const val REFUSED = 0x0c
    }
}
