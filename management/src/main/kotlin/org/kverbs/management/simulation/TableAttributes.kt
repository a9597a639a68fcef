package org.kverbs.management.simulation

private const val OK = 0
private const val AT = Mads.DATA

/** The attributes that are tables of ports, which a manager reads and writes: keys, lanes, weights, vendors' data. */
internal class TableAttributes(
    private val network: Network,
) {
    private val topology = network.topology
    private val tables = network.tables

    fun serve(
        port: Int,
        mad: ByteArray,
        isSet: Boolean,
    ): Int =
        when (Mads.attribute(mad)) {
            Smps.P_KEY_TABLE -> partitionKeys(port, mad, isSet)
            Smps.SL_TO_VL -> lanes(port, mad, isSet)
            Smps.VL_ARBITRATION -> arbitration(port, mad, isSet)
            else -> vendorPort(port, mad, isSet)
        }

    /** The port that a modifier names on a switch; an adapter's table is that of the port where the request came. */
    private fun named(
        port: Int,
        number: Int,
    ): Int = if (topology.isSwitch(topology.nodeOf(port))) topology.port(topology.nodeOf(port), number) else port

    private fun partitionKeys(
        port: Int,
        mad: ByteArray,
        isSet: Boolean,
    ): Int {
        val of = named(port, Mads.modifier(mad) ushr 16)
        val block = Mads.modifier(mad) and 0xffff
        if (of == Topology.NONE || block * KEYS_IN_BLOCK >= tables.keyCapacity(of)) return Mads.INVALID_FIELD
        if (isSet) tables.setKeys(of, block, mad, AT) else tables.keys(of, block, mad, AT)
        return OK
    }

    private fun lanes(
        port: Int,
        mad: ByteArray,
        isSet: Boolean,
    ): Int {
        val input = named(port, Mads.modifier(mad) shr 8 and 0xff)
        val output = named(port, Mads.modifier(mad) and 0xff)
        if (input == Topology.NONE || output == Topology.NONE) return Mads.INVALID_FIELD
        if (isSet) tables.setLanes(input, output, mad, AT) else tables.lanes(input, output).copyInto(mad, AT)
        return OK
    }

    private fun arbitration(
        port: Int,
        mad: ByteArray,
        isSet: Boolean,
    ): Int {
        val of = named(port, Mads.modifier(mad) and 0xffff)
        val part = (Mads.modifier(mad) ushr 16) - 1
        // Both tables have eight entries: their second halves are not there.
        if (of == Topology.NONE || part !in PARTS || part % 2 != 0) return Mads.INVALID_FIELD
        if (isSet) {
            tables.setArbitration(of, part, mad, AT, ARBITRATION_SIZE)
        } else {
            mad.fill(0, AT, AT + Mads.DATA_SIZE)
            tables.arbitration(of, part).copyInto(mad, AT, 0, ARBITRATION_SIZE)
        }
        return OK
    }

    private fun vendorPort(
        port: Int,
        mad: ByteArray,
        isSet: Boolean,
    ): Int {
        val node = topology.nodeOf(port)
        val modifier = Mads.modifier(mad)
        val of = if (modifier == 0 && !topology.isSwitch(node)) port else topology.port(node, modifier)
        if (of == Topology.NONE) return Mads.INVALID_FIELD
        if (isSet) tables.setVendorPort(of, mad, AT) else tables.vendorPort(of).copyInto(mad, AT)
        return OK
    }

    companion object {
        val KNOWN = setOf(Smps.P_KEY_TABLE, Smps.SL_TO_VL, Smps.VL_ARBITRATION, Smps.VENDOR_PORT_INFO)
        private const val KEYS_IN_BLOCK = 32
        private const val ARBITRATION_SIZE = 8 * 2
        private val PARTS = 0..3
    }
}
