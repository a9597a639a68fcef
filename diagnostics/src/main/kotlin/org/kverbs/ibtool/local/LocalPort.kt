package org.kverbs.ibtool.local

import org.kverbs.management.port.EndPort
import org.kverbs.management.structures.LinkSpeedExt
import org.kverbs.management.structures.LinkWidth
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.transport.MadPort

/** A port of this machine, or the port of a simulated fabric that a command runs at. */
internal class LocalPort(
    val number: Int,
    val state: Int,
    val physicalState: Int,
    val rate: String,
    val lid: Int,
    val lmc: Int,
    val subnetManagerLid: Int,
    val capabilityMask: Int,
    val guid: Long,
    val linkLayer: String,
) {
    companion object {
        /** As the kernel tells. */
        fun of(port: EndPort): LocalPort =
            LocalPort(
                port.number,
                port.state?.value ?: 0,
                port.physicalState?.value ?: 0,
                rate(port.rate),
                port.lid?.value ?: 0,
                port.lmc,
                port.subnetManagerLid?.value ?: 0,
                port.capabilityMask?.value ?: 0,
                port.portGuid?.value ?: 0,
                port.linkLayer ?: "IB",
            )

        /** As a simulated fabric has it. */
        fun of(port: MadPort): LocalPort =
            LocalPort(
                port.node.localPortNum,
                port.info.portState.value,
                port.info.portPhysicalState.value,
                rate(port.info),
                port.info.lid.value,
                port.info.lmc,
                port.info.masterSMLID.value,
                port.info.capabilityMask.value,
                port.node.portGUID.value,
                "IB",
            )

        /** The gigabits that the kernel tells of a link with this width and speed: coding is not counted. */
        private fun rate(info: PortInfo): String {
            val lane =
                when (info.linkSpeedExtActive) {
                    LinkSpeedExt.FDR -> FDR
                    LinkSpeedExt.EDR -> EDR
                    LinkSpeedExt.HDR -> HDR
                    LinkSpeedExt.NDR -> NDR
                    else -> SDR * info.linkSpeedActive.value
                }
            val lanes = LANES[info.linkWidthActive] ?: 0
            return rate("${lane * lanes}")
        }

        private const val SDR = 2.5
        private const val FDR = 14.0
        private const val EDR = 25.0
        private const val HDR = 50.0
        private const val NDR = 100.0
        private val LANES =
            mapOf(
                LinkWidth.W1X to 1,
                LinkWidth.W2X to 2,
                LinkWidth.W4X to 4,
                LinkWidth.W8X to 8,
                LinkWidth.W12X to 12,
            )

        /** The whole gigabits of the kernel's `100 Gb/sec (4X EDR)`, and its one name in parentheses. */
        private fun rate(text: String?): String {
            val number = text?.substringBefore(' ')?.toDoubleOrNull() ?: return "0"
            val whole = number.toInt()
            return when {
                "FDR10)" in text.uppercase() -> "$whole (FDR10)"
                whole == 2 -> "2.5"
                else -> "$whole"
            }
        }
    }
}
