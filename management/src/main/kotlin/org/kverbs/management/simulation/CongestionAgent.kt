package org.kverbs.management.simulation

import org.kverbs.management.structures.CACongestionSetting
import org.kverbs.management.structures.CCFormat
import org.kverbs.management.structures.CongestionControlTable
import org.kverbs.management.structures.CongestionInfo
import org.kverbs.management.structures.CongestionKeyInfo
import org.kverbs.management.structures.CongestionLogCA
import org.kverbs.management.structures.CongestionLogSwitch
import org.kverbs.management.structures.CongestionLogType
import org.kverbs.management.structures.SwitchCongestionSetting
import org.kverbs.management.structures.SwitchPortCongestionSetting
import org.kverbs.management.structures.TimeStamp
import org.kverbs.structures.StructureType

private const val LOG_AT = 32
private const val DATA_AT = 64
private const val OF_SWITCH = 1
private const val OF_ADAPTER = 2
private const val TABLE_BLOCKS = 2
private const val PORTS_A_BLOCK = 32

/**
 * Congestion control at a port (IBA A10): it keeps what is set, and needs the key that was set. Without traffic nothing
 * is congested, so that the log is empty and the time stands still.
 */
internal class CongestionAgent(
    private val network: Network,
) : NodeAgent {
    override val classVersion get() = 2

    override fun serve(
        port: Int,
        mad: ByteArray,
        isSet: Boolean,
    ): Int? {
        val end = network.endPort(port)
        val isSwitch = network.topology.isSwitch(network.topology.nodeOf(end))
        if (!hasKey(end, mad, isSet)) return null
        NodeAgents.classPortInfo(mad, DATA_AT, isSet)?.let { return it }
        return when (Mads.attribute(mad)) {
            LOG -> if (isSet) Mads.ATTRIBUTE_UNSUPPORTED else log(mad, isSwitch)
            INFO -> if (isSet) Mads.ATTRIBUTE_UNSUPPORTED else info(mad)
            TIME -> if (isSet) Mads.ATTRIBUTE_UNSUPPORTED else write(mad, ByteArray(TimeStamp.byteSize))
            else -> kept(end, isSwitch, mad, isSet)
        }
    }

    /** Without the key nothing is set, and with the protection nothing is read. Each attempt is counted. */
    private fun hasKey(
        end: Int,
        mad: ByteArray,
        isSet: Boolean,
    ): Boolean {
        val info = network.kept.find(end, KEY, 0)?.let { CongestionKeyInfo.at(it) } ?: return true
        val key = info.ccKey
        if (key == 0L || CCFormat.at(mad).ccKey == key || (!isSet && !info.ccKeyProtectBit)) return true
        if (info.ccKeyViolations < MOST_VIOLATIONS) info.ccKeyViolations++
        return false
    }

    private fun kept(
        end: Int,
        isSwitch: Boolean,
        mad: ByteArray,
        isSet: Boolean,
    ): Int {
        val attribute = Mads.attribute(mad)
        val block = Mads.modifier(mad)
        val type = type(attribute, isSwitch) ?: return Mads.ATTRIBUTE_UNSUPPORTED
        if (block !in 0 until blocks(type, end)) return Mads.INVALID_FIELD
        val before = network.kept.find(end, attribute, block)
        if (isSet) {
            val given = mad.copyOfRange(DATA_AT, DATA_AT + type.byteSize)
            // Only the node counts violations.
            if (type == CongestionKeyInfo) {
                CongestionKeyInfo.at(given).ccKeyViolations =
                    before?.let { CongestionKeyInfo.at(it).ccKeyViolations } ?: 0
            }
            network.kept.set(end, attribute, block, given)
            return write(mad, given)
        }
        val value = before?.copyOf() ?: ByteArray(type.byteSize)
        // As a management key: a program that has not given it does not learn it.
        if (type == CongestionKeyInfo) {
            val info = CongestionKeyInfo.at(value)
            if (CCFormat.at(mad).ccKey != info.ccKey) info.ccKey = 0
        }
        return write(mad, value)
    }

    private fun type(
        attribute: Int,
        isSwitch: Boolean,
    ): StructureType<*>? =
        when {
            attribute == KEY -> CongestionKeyInfo
            attribute == SWITCH && isSwitch -> SwitchCongestionSetting
            attribute == SWITCH_PORT && isSwitch -> SwitchPortCongestionSetting
            attribute == ADAPTER && !isSwitch -> CACongestionSetting
            attribute == TABLE && !isSwitch -> CongestionControlTable
            else -> null
        }

    private fun blocks(
        type: StructureType<*>,
        end: Int,
    ): Int =
        when (type) {
            SwitchPortCongestionSetting -> network.topology.specOf(end).ports / PORTS_A_BLOCK + 1
            CongestionControlTable -> TABLE_BLOCKS
            else -> 1
        }

    private fun info(mad: ByteArray) = write(mad, CongestionInfo { controlTableCap = TABLE_BLOCKS }.bytes())

    private fun log(
        mad: ByteArray,
        isSwitch: Boolean,
    ): Int {
        mad.fill(0, LOG_AT, mad.size)
        val log =
            if (isSwitch) {
                CongestionLogSwitch { logType = CongestionLogType.of(OF_SWITCH) }.bytes()
            } else {
                CongestionLogCA { logType = CongestionLogType.of(OF_ADAPTER) }.bytes()
            }
        log.copyInto(mad, LOG_AT)
        return 0
    }

    private fun write(
        mad: ByteArray,
        value: ByteArray,
    ): Int {
        mad.fill(0, DATA_AT, mad.size)
        value.copyInto(mad, DATA_AT)
        return 0
    }

    private companion object {
        const val INFO = 0x11
        const val KEY = 0x12
        const val LOG = 0x13
        const val SWITCH = 0x14
        const val SWITCH_PORT = 0x15
        const val ADAPTER = 0x16
        const val TABLE = 0x17
        const val TIME = 0x18
        const val MOST_VIOLATIONS = 0xffff
    }
}
