package org.kverbs.management.simulation

import org.kverbs.management.structures.LinkDownDefaultState
import org.kverbs.management.structures.MTU
import org.kverbs.management.structures.PortCapabilityMask
import org.kverbs.management.structures.PortCapabilityMask2
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortPhysicalState
import org.kverbs.management.structures.PortState
import org.kverbs.management.structures.VLCap

private const val LINK_LOCAL = 0xfe80L shl 48
private const val LEASE_PERIOD = 0x0ff9
private const val LONGEST_TIMEOUT = 31

/** CableInfo is not among them: the agents do not answer it. */
private const val CAPABILITIES_OF_SWITCH = 0x0000c048
private const val CAPABILITIES_OF_HOST = 0x0050c048
private const val CAPABILITIES_OF_HOST_DOWN = 0x0010c048

/** 2X links, and HDR. */
private const val CAPABILITIES_2 = 0x0030

/**
 * PortInfo of ports before a manager sets it. The values that no specification gives are those of ibsim, so that the
 * answers of both can be compared byte by byte.
 */
internal object PortDefaults {
    val management: ByteArray =
        PortInfo {
            gidPrefix = LINK_LOCAL
            capabilityMask = PortCapabilityMask.of(CAPABILITIES_OF_SWITCH)
            mKeyLeasePeriod = LEASE_PERIOD
            linkState(PortState.ACTIVE)
            neighborMTU = MTU.MTU_256
            tables()
            initTypeReply = 0
            mtuCap = MTU.MTU_1024
            guidCap = 1
            subnetTimeOut = LONGEST_TIMEOUT
            respTimeValue = 8
            capabilityMask2 = PortCapabilityMask2.of(CAPABILITIES_2)
        }.bytes()

    val ofSwitch: ByteArray = PortInfo { external(PortState.INIT) }.bytes()

    val ofSwitchDown: ByteArray =
        PortInfo {
            external(PortState.DOWN)
            localPhyErrors = 4
        }.bytes()

    val ofHost: ByteArray = PortInfo { host(PortState.INIT, CAPABILITIES_OF_HOST) }.bytes()

    val ofHostDown: ByteArray = PortInfo { host(PortState.DOWN, CAPABILITIES_OF_HOST_DOWN) }.bytes()

    private fun PortInfo.host(
        state: PortState,
        capabilities: Int,
    ) {
        external(state)
        gidPrefix = LINK_LOCAL
        capabilityMask = PortCapabilityMask.of(capabilities)
        mKeyLeasePeriod = LEASE_PERIOD
        guidCap = 32
        subnetTimeOut = LONGEST_TIMEOUT
        capabilityMask2 = PortCapabilityMask2.of(CAPABILITIES_2)
    }

    private fun PortInfo.external(state: PortState) {
        linkState(state)
        tables()
        neighborMTU = MTU.MTU_2048
        mtuCap = MTU.MTU_2048
        vlStallCount = 7
    }

    private fun PortInfo.linkState(state: PortState) {
        portState = state
        val isUp = state != PortState.DOWN
        portPhysicalState = if (isUp) PortPhysicalState.LINK_UP else PortPhysicalState.POLLING
        linkDownDefaultState = LinkDownDefaultState.POLLING
    }

    private fun PortInfo.tables() {
        vlCap = VLCap.VL0_7
        operationalVLs = VLCap.VL0_7
        vlArbitrationHighCap = 8
        vlArbitrationLowCap = 8
    }
}
