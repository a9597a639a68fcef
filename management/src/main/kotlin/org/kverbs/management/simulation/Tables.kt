package org.kverbs.management.simulation

private const val KEY_SIZE = 2
private const val LANES = 8
private const val ARBITRATION_SIZE = 64

/** The tables of ports and switches. A table that no manager has written is not in memory. */
internal class Tables(
    private val network: Network,
) {
    private val topology = network.topology
    private val switches = arrayOfNulls<SwitchTables>(topology.size)
    private val keys = HashMap<Int, ByteArray>()
    private val lanes = HashMap<Long, ByteArray>()
    private val arbitrations = HashMap<Long, ByteArray>()
    private val vendor = HashMap<Int, ByteArray>()

    fun ofSwitch(node: Int): SwitchTables =
        switches[node] ?: SwitchTables(topology.node(node).ports, hasLink(node)).also { switches[node] = it }

    private fun hasLink(node: Int) =
        (1..topology.node(node).ports).any { topology.peer(topology.port(node, it)) != Topology.NONE }

    fun setStateChange(node: Int) {
        if (topology.isSwitch(node)) ofSwitch(node).hasStateChange = true
    }

    /** Forgets what was written to a node, as a reset does. */
    fun forget(node: Int) {
        switches[node] = null
        for (number in 0..topology.node(node).ports) {
            val port = topology.port(node, number)
            keys.remove(port)
            vendor.remove(port)
        }
        lanes.keys.removeIf { topology.nodeOf((it shr 32).toInt()) == node }
        arbitrations.keys.removeIf { topology.nodeOf((it shr 32).toInt()) == node }
    }

    /** How many partition keys a port has room for. */
    fun keyCapacity(port: Int): Int =
        when {
            !topology.isSwitch(topology.nodeOf(port)) -> Identity.KEYS_OF_HOST
            topology.numberOf(port) == 0 -> Identity.KEYS_OF_SWITCH
            else -> Identity.KEYS_OF_SWITCH_PORT
        }

    fun keys(
        port: Int,
        block: Int,
        into: ByteArray,
        offset: Int,
    ) {
        into.fill(0, offset, offset + Mads.DATA_SIZE)
        val known = keys[port]
        val from = block * Mads.DATA_SIZE
        val end = minOf(from + Mads.DATA_SIZE, keyCapacity(port) * KEY_SIZE)
        if (known != null) {
            known.copyInto(into, offset, from, end)
        } else if (block == 0) {
            Wire.put16(into, offset, 0xffff)
        }
    }

    fun setKeys(
        port: Int,
        block: Int,
        from: ByteArray,
        offset: Int,
    ) {
        val table =
            keys.getOrPut(port) {
                ByteArray(keyCapacity(port) * KEY_SIZE).also { Wire.put16(it, 0, 0xffff) }
            }
        val at = block * Mads.DATA_SIZE
        from.copyInto(table, at, offset, offset + minOf(Mads.DATA_SIZE, table.size - at))
    }

    /** The lanes of the service levels that come in by [input] and go out by [output]. */
    fun lanes(
        input: Int,
        output: Int,
    ): ByteArray = lanes[pair(input, output)] ?: DEFAULT_LANES

    fun setLanes(
        input: Int,
        output: Int,
        from: ByteArray,
        offset: Int,
    ) {
        lanes[pair(input, output)] = from.copyOfRange(offset, offset + LANES)
    }

    /** The weights of the lanes: [part] 0 and 1 are of low priority, 2 and 3 of high. */
    fun arbitration(
        port: Int,
        part: Int,
    ): ByteArray = arbitrations[pair(port, part)] ?: if (part >= 2) HIGH else LOW

    fun setArbitration(
        port: Int,
        part: Int,
        from: ByteArray,
        offset: Int,
        size: Int,
    ) {
        val table = arbitration(port, part).copyOf()
        from.copyInto(table, 0, offset, offset + size)
        arbitrations[pair(port, part)] = table
    }

    /** Mellanox' PortInfo beside PortInfo: whether the link runs at FDR10. */
    fun vendorPort(port: Int): ByteArray = vendor[port] ?: fdr10(port)

    fun setVendorPort(
        port: Int,
        from: ByteArray,
        offset: Int,
    ) {
        vendor[port] = from.copyOfRange(offset, offset + Mads.DATA_SIZE)
    }

    private fun fdr10(port: Int): ByteArray {
        val image = ByteArray(Mads.DATA_SIZE)
        val peer = topology.peer(port)
        if (peer == Topology.NONE) return image
        val active = topology.rate(port) with topology.rate(peer)
        if (active.extended == 0 && active.fdr10 != 0) {
            for (at in FDR10_FIELDS) Wire.put8(image, at, 1)
        }
        return image
    }

    private fun pair(
        port: Int,
        other: Int,
    ) = port.toLong() shl 32 or other.toLong()

    private companion object {
        private val DEFAULT_LANES = byteArrayOf(0x01, 0x23, 0x45, 0x67, -0x77, -0x55, -0x33, -0x19)

        /** Supported, enabled, active. */
        private val FDR10_FIELDS = intArrayOf(7, 11, 15)
        private const val LANE_COUNT = 15

        /** By default lane 0 has a weight of 4 at high priority, and all others at low. */
        private val HIGH = weights { if (it == 0) 4 else 0 }
        private val LOW = weights { if (it == 0) 0 else 4 }

        private fun weights(of: (Int) -> Int) =
            ByteArray(ARBITRATION_SIZE) { at ->
                val lane = at / 2
                when {
                    lane >= LANE_COUNT -> 0
                    at % 2 == 0 -> lane.toByte()
                    else -> of(lane).toByte()
                }
            }
    }
}
