package org.kverbs.ibtool

import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.LinkSpeedExt
import org.kverbs.management.structures.LinkWidth
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.SMPFormatDirected
import org.kverbs.management.subnet.SubnetPort
import org.kverbs.management.transport.MadReceiver
import org.kverbs.management.transport.MadTransport

/** A transport whose answers say of a port that it runs at one lane and at FDR. */
internal class Narrowed(
    private val inner: MadTransport,
    port: SubnetPort,
) : MadTransport by inner {
    private val hops = port.node.path.hops.drop(1)
    private val number = port.number

    override fun receive(receiver: MadReceiver) =
        inner.receive(
            object : MadReceiver by receiver {
                override fun received(
                    mad: ByteArray,
                    back: MadPath?,
                ) {
                    if (isOfPort(mad)) {
                        PortInfo.at(mad, DATA).apply {
                            linkWidthActive = LinkWidth.W1X
                            linkSpeedExtActive = LinkSpeedExt.FDR
                        }
                    }
                    receiver.received(mad, back)
                }
            },
        )

    private fun isOfPort(mad: ByteArray): Boolean {
        val header = MADHeader.at(mad)
        val smp = SMPFormatDirected.at(mad)
        return header.mgmtClass.value == DIRECTED && header.attributeID == PortInfo.attributeId &&
            header.attributeModifier.toInt() and NUMBER == number &&
            (1..smp.madHeader.hopCount).map { smp.initialPath[it] } == hops
    }

    private companion object {
        private const val DIRECTED = 0x81
        private const val DATA = 64
        private const val NUMBER = 0xff
    }
}
