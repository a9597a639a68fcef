package org.kverbs.ibtool.fabric

import org.kverbs.ibtool.session.NodeNames
import org.kverbs.ibtool.session.hex16
import org.kverbs.ibtool.session.with
import org.kverbs.management.structures.LinkSpeedExt2
import org.kverbs.management.structures.PortCapabilityMask
import org.kverbs.management.structures.PortState
import org.kverbs.management.subnet.LaneSpeed
import org.kverbs.management.subnet.SubnetPort

/** The form `==( 4X 10.0 Gbps Active/ LinkUp)==>` of links, which `iblinkinfo` and `ibqueryerrors` print. */
internal class LinkLine(
    private val names: NodeNames,
    private val chassis: ChassisNumbers,
) {
    /** From the number of the port to the end of the line; [guids] has the far port's GUID, too. */
    fun of(
        port: SubnetPort,
        guids: Boolean,
        settings: String = "",
    ): String = "%4d[%2s] ==%s%s==>  %s".with(port.number, external(port), state(port), settings, far(port, guids))

    private fun external(port: SubnetPort): String = chassis.externalPort(port)?.toString().orEmpty()

    /** Width, speed and state. A port that is down need not tell width and speed. */
    private fun state(port: SubnetPort): String {
        val states = "%6s/%8s".with(PortNames.state(port.info), PortNames.physicalState(port.info))
        if (isDown(port)) return "(              $states)"
        return "(%3s %18s %s)".with(PortNames.width(port.info?.linkWidthActive?.value ?: 0), speed(port), states)
    }

    private fun speed(port: SubnetPort): String {
        val extended = LinkText.extendedSpeed(port)
        return when {
            port.info?.linkSpeedExtActive2 == LinkSpeedExt2.XDR -> "212.5 Gbps"
            extended != 0 -> PortNames.extendedSpeed(extended)
            port.rate?.speed == LaneSpeed.FDR10 -> "10.0 Gbps (FDR10)"
            else -> PortNames.speed(port.info?.linkSpeedActive?.value ?: 0)
        }
    }

    private fun far(
        port: SubnetPort,
        guids: Boolean,
    ): String {
        val peer = port.peer
        if (peer == null) return if (isDown(port)) NO_LINK else NOT_AVAILABLE
        val guid = if (guids) "0x${hex16(peer.guid.value)} " else ""
        return "%s%6d %4d[%2s] \"%s\" (%s %s)".with(
            guid,
            peer.lid.value,
            peer.number,
            external(peer),
            names.of(peer.node),
            possibleWidth(port, peer),
            possibleSpeed(port, peer),
        )
    }

    private fun possibleWidth(
        port: SubnetPort,
        peer: SubnetPort,
    ): String {
        val both = (port.info?.linkWidthSupported?.value ?: 0) and (peer.info?.linkWidthSupported?.value ?: 0)
        val best =
            when {
                both and W12X != 0 -> W12X
                both and W8X != 0 -> W8X
                both and W4X != 0 -> W4X
                both and W2X != 0 -> W2X
                else -> 1
            }
        val isBest = best and (port.info?.linkWidthActive?.value ?: 0) != 0
        return if (isBest) "" else "Could be ${PortNames.width(best)}"
    }

    private fun possibleSpeed(
        port: SubnetPort,
        peer: SubnetPort,
    ): String {
        val own = port.info ?: return ""
        val far = peer.info ?: return ""
        val ownExtended = own.linkSpeedExtSupported.value
        val farExtended = far.linkSpeedExtSupported.value
        if (isExtended(port) && isExtended(peer) && ownExtended != 0 && farExtended != 0) {
            val best = maxOf(1, Integer.highestOneBit(ownExtended and farExtended))
            val isBest = best and own.linkSpeedExtActive.value != 0
            return if (isBest) "" else "Could be ${PortNames.extendedSpeed(best)}"
        }
        if (port.link?.possibleRate?.speed == LaneSpeed.FDR10) return possibleFdr10(port)
        val best = maxOf(1, Integer.highestOneBit(own.linkSpeedSupported.value and far.linkSpeedSupported.value))
        val isBest = best and own.linkSpeedActive.value != 0
        return if (isBest) "" else "Could be ${PortNames.speed(best)}"
    }

    private fun possibleFdr10(port: SubnetPort): String =
        when {
            port.rate?.speed == LaneSpeed.FDR10 -> ""
            port.rate?.speed == LaneSpeed.QDR -> "Could be FDR10 (Found link at QDR but expected speed is FDR10)"
            else -> "Could be FDR10"
        }

    private fun isExtended(port: SubnetPort): Boolean {
        val capable = if (port.node.isSwitch) port.node.port(0) else port
        return capable?.info?.let { PortCapabilityMask.IsExtendedSpeedsSupported in it.capabilityMask } ?: false
    }

    private fun isDown(port: SubnetPort) = port.state == PortState.DOWN

    private companion object {
        private const val W4X = 2
        private const val W8X = 4
        private const val W12X = 8
        private const val W2X = 16
        private const val NO_LINK = "           [  ] \"\" ( )"
        private const val NOT_AVAILABLE = "    \"Port not available\""
    }
}
