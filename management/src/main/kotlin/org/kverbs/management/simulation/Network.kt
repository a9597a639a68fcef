package org.kverbs.management.simulation

import org.kverbs.management.structures.PortCapabilityMask
import org.kverbs.management.structures.PortInfo
import java.util.BitSet

/**
 * The state of a simulated fabric: what its nodes answer with. Tables that few ports have are made when a manager
 * writes them.
 *
 * Threads: [Exchange] holds its lock around each use.
 */
internal class Network(
    val topology: Topology,
) {
    private val images = ByteArray(topology.ports * PORT_INFO_SIZE)
    private val guids = LongArray(topology.size) { topology.node(it).guid }
    private val dead = BitSet()
    private val cut = BitSet()
    private val disabled = BitSet()
    private val changed = LinkedHashSet<Int>()
    val tables = Tables(this)
    val kept = KeptAttributes(topology)
    val counters = Counters(topology)

    init {
        for (node in 0 until topology.size) {
            for (number in 0..topology.node(node).ports) reset(topology.port(node, number))
        }
        for ((port, given) in topology.givenLids) {
            setLid(port, given shr 8)
            setLmc(port, given and 7)
        }
    }

    fun nodeGuid(node: Int): Long = guids[node]

    fun setNodeGuid(
        node: Int,
        guid: Long,
    ) {
        guids[node] = guid
    }

    fun portGuid(port: Int): Long = topology.guid(port, guids[topology.nodeOf(port)])

    fun isDead(node: Int): Boolean = dead[node]

    /** Takes a node off the fabric, or brings it back as after a reset. Its links go down and up. */
    fun setDead(
        node: Int,
        isDead: Boolean,
    ) {
        if (dead[node] == isDead) return
        dead[node] = isDead
        for (number in 0..topology.node(node).ports) {
            val port = topology.port(node, number)
            disabled[port] = false
            if (topology.peer(port) != Topology.NONE) refresh(port)
            reset(port)
        }
        tables.forget(node)
        kept.forget(node)
    }

    /** Pulls the cable of a port, or plugs it in again. */
    fun setCut(
        port: Int,
        isCut: Boolean,
    ) {
        if (cut[port] == isCut) return
        cut[port] = isCut
        cut[topology.peer(port)] = isCut
        refresh(port)
    }

    /** Does what a manager that sets the physical state wants: Disabled takes the link down, Polling trains it anew. */
    fun setPhysicalState(
        port: Int,
        state: Int,
    ) {
        if (state != DISABLED && state != POLLING) return
        disabled[port] = state == DISABLED
        refresh(port)
    }

    /** Both ends of a cable after the link came, went, or was trained anew. */
    private fun refresh(port: Int) {
        val isUp = isLinked(port)
        for (end in intArrayOf(port, topology.peer(port))) {
            val at = at(end)
            val physical =
                if (isUp) {
                    LINK_UP
                } else if (disabled[end]) {
                    DISABLED
                } else {
                    POLLING
                }
            val default = Wire.u8(images, at + PHYSICAL_STATE_AT) and 0xf
            Wire.put8(images, at + PHYSICAL_STATE_AT, physical shl 4 or default)
            if (!isUp && state(end) != DOWN) counters.add(end, Counters.LINK_DOWNED)
            setState(end, if (isUp) INIT else DOWN)
            negotiate(end)
            tables.setStateChange(topology.nodeOf(end))
            if (topology.isSwitch(topology.nodeOf(end))) changed += topology.nodeOf(end)
        }
    }

    /** The switches of which a link came or went since the last call. */
    fun takeChanged(): List<Int> = changed.toList().also { changed.clear() }

    /** Whether a cable with a working node at each end is plugged in, and neither port is disabled. */
    private fun isLinked(port: Int): Boolean {
        val peer = topology.peer(port)
        if (peer == Topology.NONE || cut[port] || disabled[port] || disabled[peer]) return false
        return !dead[topology.nodeOf(port)] && !dead[topology.nodeOf(peer)]
    }

    /** The port at the other end of a link that is up, or [Topology.NONE]. */
    fun far(port: Int): Int = if (isUp(port)) topology.peer(port) else Topology.NONE

    private fun reset(port: Int) {
        val isSwitch = topology.isSwitch(topology.nodeOf(port))
        val isUp = isLinked(port)
        val defaults =
            when {
                isSwitch && topology.numberOf(port) == 0 -> PortDefaults.management
                isSwitch && isUp -> PortDefaults.ofSwitch
                isSwitch -> PortDefaults.ofSwitchDown
                isUp -> PortDefaults.ofHost
                else -> PortDefaults.ofHostDown
            }
        defaults.copyInto(images, at(port))
        negotiate(port)
    }

    /** Width and speed, of what the two ends have enabled. */
    fun negotiate(port: Int) {
        val own = topology.rate(port)
        val active = if (isLinked(port)) own with topology.rate(topology.peer(port)) else LinkRate.DEFAULT
        LinkFields.write(images, at(port), own, active)
    }

    /** Copies PortInfo of a port to [into]. */
    fun portInfo(
        port: Int,
        into: ByteArray,
        offset: Int,
    ) {
        images.copyInto(into, offset, at(port), at(port) + PORT_INFO_SIZE)
    }

    fun setPortInfo(
        port: Int,
        from: ByteArray,
    ) {
        from.copyInto(images, at(port))
    }

    /** Changes PortInfo of a port. */
    fun edit(
        port: Int,
        change: PortInfo.() -> Unit,
    ) = PortInfo.at(images, at(port)).change()

    /** How many GUIDs the port has room for. */
    fun guidCapacity(port: Int): Int = PortInfo.at(images, at(port)).guidCap

    fun capabilities(port: Int): PortCapabilityMask = PortInfo.at(images, at(port)).capabilityMask

    /** The largest packet that the port can take, by its code. */
    fun mtu(port: Int): Int = Wire.u8(images, at(port) + MTU_AT) and 0xf

    fun lid(port: Int): Int = Wire.u16(images, at(port) + LID_AT)

    fun setLid(
        port: Int,
        lid: Int,
    ) = Wire.put16(images, at(port) + LID_AT, lid)

    fun lmc(port: Int): Int = Wire.u8(images, at(port) + LMC_AT) and 7

    fun setLmc(
        port: Int,
        lmc: Int,
    ) {
        val at = at(port) + LMC_AT
        Wire.put8(images, at, Wire.u8(images, at) and 7.inv() or lmc)
    }

    fun subnetManagerLid(port: Int): Int = Wire.u16(images, at(port) + SM_LID_AT)

    fun setSubnetManagerLid(
        port: Int,
        lid: Int,
    ) = Wire.put16(images, at(port) + SM_LID_AT, lid)

    fun mKey(port: Int): Long = Wire.u64(images, at(port))

    fun protection(port: Int): Int = Wire.u8(images, at(port) + LMC_AT) shr 6

    fun countKeyViolation(port: Int) {
        val at = at(port) + M_KEY_VIOLATIONS_AT
        Wire.put16(images, at, minOf(0xffff, Wire.u16(images, at) + 1))
    }

    fun state(port: Int): Int = Wire.u8(images, at(port) + STATE_AT) and 0xf

    fun setState(
        port: Int,
        state: Int,
    ) {
        val at = at(port) + STATE_AT
        Wire.put8(images, at, Wire.u8(images, at) and 0xf0 or state)
    }

    fun isUp(port: Int): Boolean = Wire.u8(images, at(port) + PHYSICAL_STATE_AT) shr 4 == LINK_UP

    /** Whether the port has this LID, by its mask. */
    fun answersTo(
        port: Int,
        lid: Int,
    ): Boolean {
        val own = lid(port)
        return own != 0 && lid in own until own + (1 shl lmc(port))
    }

    /** The port that has the node's LID and its keys: port 0 of a switch, else the port itself. */
    fun endPort(port: Int): Int {
        val node = topology.nodeOf(port)
        return if (topology.isSwitch(node)) topology.port(node, 0) else port
    }

    private fun at(port: Int) = port * PORT_INFO_SIZE

    companion object {
        const val PORT_INFO_SIZE = 64
        const val LID_AT = 16
        const val SM_LID_AT = 18
        const val STATE_AT = 32
        const val PHYSICAL_STATE_AT = 33
        const val LMC_AT = 34
        private const val MTU_AT = 41
        private const val M_KEY_VIOLATIONS_AT = 44
        const val POLLING = 2
        const val DISABLED = 3
        const val LINK_UP = 5
        const val DOWN = 1
        const val INIT = 2
        const val ARMED = 3
        const val ACTIVE = 4
    }
}
