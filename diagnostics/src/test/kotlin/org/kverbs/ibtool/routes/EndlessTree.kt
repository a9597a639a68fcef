package org.kverbs.ibtool.routes

import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.MulticastForwardingTable
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortPhysicalState
import org.kverbs.management.structures.SMPFormatDirected
import org.kverbs.management.structures.SwitchInfo
import org.kverbs.management.transport.MadReceiver
import org.kverbs.management.transport.MadTransport
import org.kverbs.structures.Guid
import org.kverbs.structures.Structure
import kotlin.time.Duration

private const val DATA = 64
private const val DIRECTED = 0x81
private const val DIRECTION = 0x8000

/**
 * A fabric behind whose first switch there is another switch at each port, with another GUID each time. The multicast
 * tables of all switches lead to the ports of [mask].
 */
internal class EndlessTree(
    private val inner: MadTransport,
    private val mask: Int,
) : MadTransport by inner {
    private lateinit var receiver: MadReceiver
    private var switches = 0L

    override fun receive(receiver: MadReceiver) {
        this.receiver = receiver
        inner.receive(receiver)
    }

    override fun send(
        mad: ByteArray,
        path: MadPath,
    ) {
        if (!answers(mad)) inner.send(mad, path)
    }

    override fun send(
        mad: ByteArray,
        path: MadPath,
        patience: Duration,
    ) {
        if (!answers(mad)) inner.send(mad, path, patience)
    }

    private fun answers(mad: ByteArray): Boolean {
        val smp = SMPFormatDirected.at(mad)
        val attribute = smp.madHeader.attributeID
        val isFar = smp.madHeader.hopCount > 1 || attribute == MulticastForwardingTable.attributeId
        if (mad[1].toInt() and 0xff != DIRECTED || !isFar) return false
        val answer = mad.copyOf()
        MADHeader.at(answer).apply {
            method = Method.GET_RESP
            status = DIRECTION
        }
        data(attribute)?.bytes()?.let { it.copyInto(answer, DATA, 0, minOf(it.size, DATA)) }
        receiver.received(answer, null)
        return true
    }

    private fun data(attribute: Int): Structure? =
        when (attribute) {
            NodeInfo.attributeId -> {
                NodeInfo {
                    nodeType = NodeType.SWITCH
                    numPorts = 15
                    nodeGUID = Guid(0x5000_0000L + switches)
                    portGUID = Guid(0x5000_0000L + switches++)
                    localPortNum = 1
                }
            }

            NodeDescription.attributeId -> {
                NodeDescription { nodeString = "endless" }
            }

            SwitchInfo.attributeId -> {
                SwitchInfo { multicastFDBCap = 64 }
            }

            MulticastForwardingTable.attributeId -> {
                MulticastForwardingTable { for (at in 0 until DATA / 2) portMaskBlock[at] = mask }
            }

            PortInfo.attributeId -> {
                PortInfo { portPhysicalState = PortPhysicalState.LINK_UP }
            }

            else -> {
                null
            }
        }
}
