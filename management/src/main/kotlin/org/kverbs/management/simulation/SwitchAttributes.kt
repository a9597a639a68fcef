package org.kverbs.management.simulation

import org.kverbs.management.structures.SwitchInfo

private const val OK = 0
private const val AT = Mads.DATA

/** The attributes that only switches have: SwitchInfo and the forwarding tables. */
internal class SwitchAttributes(
    private val network: Network,
) {
    private val topology = network.topology

    fun serve(
        port: Int,
        mad: ByteArray,
        isSet: Boolean,
    ): Int {
        val node = topology.nodeOf(port)
        if (!topology.isSwitch(node)) return Mads.ATTRIBUTE_UNSUPPORTED
        val table = network.tables.ofSwitch(node)
        return when (Mads.attribute(mad)) {
            Smps.LINEAR_FORWARDING -> linear(table, mad, isSet)
            Smps.MULTICAST_FORWARDING -> multicast(table, mad, isSet)
            else -> if (isSet) setInfo(node, table, mad) else info(node, table, mad)
        }
    }

    private fun info(
        node: Int,
        table: SwitchTables,
        mad: ByteArray,
    ): Int {
        mad.fill(0, AT, AT + Mads.DATA_SIZE)
        SwitchInfo.at(mad, AT).apply {
            linearFDBCap = SwitchTables.LINEAR_CAPACITY
            multicastFDBCap = SwitchTables.MULTICAST_CAPACITY
            linearFDBTop = table.linearTop
            lifeTimeValue = table.lifeTime
            portStateChange = table.hasStateChange
            partitionEnforcementCap = Identity.KEYS_OF_SWITCH_PORT
            filterRawInboundCap = true
            filterRawOutboundCap = true
            enhancedPort0 = topology.node(node).hasEnhancedPort
        }
        return OK
    }

    private fun setInfo(
        node: Int,
        table: SwitchTables,
        mad: ByteArray,
    ): Int {
        val wanted = SwitchInfo.at(mad, AT)
        if (wanted.linearFDBTop >= SwitchTables.LINEAR_CAPACITY) return Mads.INVALID_FIELD
        // A one says that the manager has seen the change.
        if (wanted.portStateChange) table.hasStateChange = false
        table.linearTop = wanted.linearFDBTop
        table.lifeTime = wanted.lifeTimeValue
        return info(node, table, mad)
    }

    private fun linear(
        table: SwitchTables,
        mad: ByteArray,
        isSet: Boolean,
    ): Int {
        val block = Mads.modifier(mad)
        if (block !in 0 until SwitchTables.LINEAR_CAPACITY / SwitchTables.BLOCK) return Mads.INVALID_FIELD
        if (isSet) table.setLinearBlock(block, mad, AT) else table.linearBlock(block, mad, AT)
        return OK
    }

    /** Blocks that the switch has not read as zeros, and take nothing. */
    private fun multicast(
        table: SwitchTables,
        mad: ByteArray,
        isSet: Boolean,
    ): Int {
        val block = Mads.modifier(mad) and BLOCKS
        val position = Mads.modifier(mad) ushr POSITION_AT
        val isThere = table.hasMulticast(block, position)
        if (isSet && isThere) table.setMulticastBlock(block, position, mad, AT)
        if (isThere) table.multicastBlock(block, position, mad, AT) else mad.fill(0, AT, AT + Mads.DATA_SIZE)
        return OK
    }

    companion object {
        val KNOWN = setOf(Smps.SWITCH_INFO, Smps.LINEAR_FORWARDING, Smps.MULTICAST_FORWARDING)
        private const val BLOCKS = 0x1ff
        private const val POSITION_AT = 28
    }
}
