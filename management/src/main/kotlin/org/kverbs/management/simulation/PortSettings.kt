package org.kverbs.management.simulation

import org.kverbs.management.structures.LinkDownDefaultState
import org.kverbs.management.structures.MTU
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.VLCap

private const val AT = Mads.DATA
private const val ALL = 0xff
private const val ALL_SPEEDS = 15
private const val ALL_EXTENDED = 31
private const val NO_EXTENDED = 30
private const val WITHOUT_FLAG = 0x7fffffff

/** PortInfo: what a manager reads and sets at a port. */
internal class PortSettings(
    private val network: Network,
) {
    private val topology = network.topology

    fun get(
        arrival: Int,
        mad: ByteArray,
        hidesKey: Boolean,
    ): Int {
        val port = port(arrival, Mads.modifier(mad))
        if (port == Topology.NONE) return Mads.INVALID_FIELD
        network.portInfo(port, mad, AT)
        Wire.put8(mad, AT + LOCAL_PORT_AT, topology.numberOf(arrival))
        if (hidesKey) Wire.put64(mad, AT, 0)
        return 0
    }

    fun set(
        arrival: Int,
        mad: ByteArray,
    ): Int {
        val port = port(arrival, Mads.modifier(mad))
        // An adapter sets the port at which the request arrived, and no other.
        val isOther = port != arrival && !topology.isSwitch(topology.nodeOf(arrival))
        if (port == Topology.NONE || isOther) return Mads.INVALID_FIELD
        val wanted = PortInfo.at(mad, AT)
        val status = check(port, wanted)
        if (status != 0) return status
        val image = ByteArray(Network.PORT_INFO_SIZE)
        network.portInfo(port, image, 0)
        assign(PortInfo.at(image), wanted)
        network.setPortInfo(port, image)
        changeRate(port, wanted)
        changeState(port, wanted)
        return get(arrival, mad, false)
    }

    /** Port 0 of a switch is its own; of an adapter, 0 is the port at which the request arrived. */
    private fun port(
        arrival: Int,
        modifier: Int,
    ): Int {
        val node = topology.nodeOf(arrival)
        val number = modifier and WITHOUT_FLAG
        return if (number == 0 && !topology.isSwitch(node)) arrival else topology.port(node, number)
    }

    private fun check(
        port: Int,
        wanted: PortInfo,
    ): Int {
        val state = wanted.portState.value
        val isUp = network.far(port) != Topology.NONE
        val isRefused =
            when (state) {
                0, Network.DOWN -> false
                Network.ARMED -> !isUp || network.state(port) != Network.INIT || isFar(port, state)
                Network.ACTIVE -> !isUp || network.state(port) != Network.ARMED || isFar(port, state)
                else -> true
            }
        val isTooWide = wanted.operationalVLs.value > VLCap.VL0_7.value
        return if (isRefused || isTooWide) Mads.INVALID_FIELD else 0
    }

    /** Whether the other end's state is more than one step away. */
    private fun isFar(
        port: Int,
        state: Int,
    ) = network.state(topology.peer(port)) !in state - 1..state + 1

    private fun assign(
        port: PortInfo,
        wanted: PortInfo,
    ) {
        port.mKey = wanted.mKey
        port.gidPrefix = wanted.gidPrefix
        port.lid = wanted.lid
        port.lmc = wanted.lmc
        port.masterSMLID = wanted.masterSMLID
        port.masterSMSL = wanted.masterSMSL
        port.mKeyLeasePeriod = wanted.mKeyLeasePeriod
        port.mKeyProtectBits = wanted.mKeyProtectBits
        port.hoqLife = wanted.hoqLife
        port.vlHighLimit = wanted.vlHighLimit
        port.subnetTimeOut = wanted.subnetTimeOut
        if (wanted.neighborMTU.value in MTU.MTU_256.value..port.mtuCap.value) port.neighborMTU = wanted.neighborMTU
        if (wanted.operationalVLs != VLCap.NO_CHANGE) port.operationalVLs = wanted.operationalVLs
        if (wanted.linkDownDefaultState != LinkDownDefaultState.NO_CHANGE) {
            port.linkDownDefaultState = wanted.linkDownDefaultState
        }
    }

    /** Zero leaves a field as it is. What is enabled counts at once, and both ends run at what they have in common. */
    private fun changeRate(
        port: Int,
        wanted: PortInfo,
    ) {
        val old = topology.rate(port)
        var rate = old
        val width = wanted.linkWidthEnabled.value
        if (width == ALL) rate = rate.withWidth(ALL_WIDTHS)
        if (width in 1..ALL_WIDTHS) rate = rate.withWidth(width)
        val speed = wanted.linkSpeedEnabled.value
        if (speed == ALL_SPEEDS) {
            rate = rate.withSpeed(7)
        } else if (speed in 1..7) {
            rate = rate.withSpeed(speed)
        }
        when (val extended = wanted.linkSpeedExtEnabled.value) {
            ALL_EXTENDED -> rate = rate.withExtended(ALL_EXTENDED / 2)
            NO_EXTENDED -> rate = rate.withExtended(0)
            in 1..ALL_EXTENDED / 2 -> rate = rate.withExtended(extended)
        }
        if (rate == old) return
        val peer = topology.peer(port)
        if (peer != Topology.NONE) {
            val active = rate with topology.rate(peer)
            // Two ends without a speed in common have no link; a real one goes down. This one stays as it was.
            if (active.width == 0 || active.speed == 0) return
        }
        topology.setRate(port, rate)
        network.negotiate(port)
        if (peer != Topology.NONE) network.negotiate(peer)
    }

    private fun changeState(
        port: Int,
        wanted: PortInfo,
    ) {
        val peer = topology.peer(port)
        when (val state = wanted.portState.value) {
            Network.DOWN -> retrain(port, peer)
            Network.ARMED, Network.ACTIVE -> network.setState(port, state)
        }
        val physical = wanted.portPhysicalState.value
        if (physical != 0 && peer != Topology.NONE) network.setPhysicalState(port, physical)
    }

    /** A link that is set down trains anew at once, and both ends are in the state Initialize. */
    private fun retrain(
        port: Int,
        peer: Int,
    ) {
        if (network.far(port) == Topology.NONE) return
        network.setState(port, Network.INIT)
        network.setState(peer, Network.INIT)
        network.tables.setStateChange(topology.nodeOf(peer))
    }

    private companion object {
        const val LOCAL_PORT_AT = 28
        const val ALL_WIDTHS = 31
    }
}
