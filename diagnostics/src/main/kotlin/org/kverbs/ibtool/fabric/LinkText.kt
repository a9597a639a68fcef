package org.kverbs.ibtool.fabric

import org.kverbs.management.structures.LinkSpeedExt2
import org.kverbs.management.structures.PortCapabilityMask
import org.kverbs.management.subnet.LaneSpeed
import org.kverbs.management.subnet.SubnetPort

/** Widths and speeds of links in the words of ibnetdiscover. */
internal object LinkText {
    private const val QDR = 4
    private val widths = mapOf(1 to "1x", 2 to "4x", 4 to "8x", 8 to "12x", 16 to "2x")
    private val speeds = mapOf(1 to "SDR", 2 to "DDR", QDR to "QDR")
    private val extended = mapOf(1 to "FDR", 2 to "EDR", 4 to "HDR", 8 to "NDR")

    /** `4x`. */
    fun width(port: SubnetPort): String = widths[port.info?.linkWidthActive?.value] ?: "??"

    /** `QDR`. */
    fun speed(port: SubnetPort): String {
        val extendedSpeed = extendedSpeed(port)
        val speed = if (isWithoutPortZero(port)) 0 else port.info?.linkSpeedActive?.value ?: 0
        return when {
            port.info?.linkSpeedExtActive2 == LinkSpeedExt2.XDR -> "XDR"
            extendedSpeed != 0 -> extended[extendedSpeed] ?: UNKNOWN
            speed == QDR && port.rate?.speed == LaneSpeed.FDR10 -> "FDR10"
            else -> speeds[speed] ?: UNKNOWN
        }
    }

    /** The bits of LinkSpeedExtActive, 0 if the port has no extended speeds. */
    fun extendedSpeed(port: SubnetPort): Int {
        val capable = if (port.node.isSwitch) port.node.port(0) else port
        val mask = capable?.info?.capabilityMask ?: return 0
        if (PortCapabilityMask.IsExtendedSpeedsSupported !in mask) return 0
        return port.info?.linkSpeedExtActive?.value ?: 0
    }

    private fun isWithoutPortZero(port: SubnetPort) = port.node.isSwitch && port.node.port(0)?.info == null

    private const val UNKNOWN = "???"
}
