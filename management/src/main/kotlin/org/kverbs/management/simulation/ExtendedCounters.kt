package org.kverbs.management.simulation

import org.kverbs.management.structures.PortCounters
import org.kverbs.management.structures.PortCountersExtended

private const val AT = Mads.DATA
private const val SELECT_AT = 2
private const val SELECT_2_AT = 4
private const val XMIT_WAIT_SELECT_AT = 18

/** PortCounters and PortCountersExtended: the same errors in both, but each with its own traffic. */
internal class ExtendedCounters(
    private val network: Network,
) {
    /** A counter of PortCounters: its bit of the selection, its field, and where it is in an image. */
    private class Short(
        val bit: Int,
        val field: String,
        val at: Int,
    ) {
        val width = PortCounters.fields.first { it.name == field }.width
        val offset = PortCounters.fields.first { it.name == field }.offset
    }

    fun short(
        ports: List<Int>,
        mad: ByteArray,
        resets: Boolean,
    ) {
        val wait = if (Wire.u8(mad, AT + XMIT_WAIT_SELECT_AT) and 1 != 0) 1 shl WAIT_BIT else 0
        val mask = Wire.u16(mad, AT + SELECT_AT) or wait
        val images = ports.mapNotNull { network.counters.known(it) }
        if (resets) {
            val selected = SHORTS.filter { mask shr it.bit and 1 != 0 }
            images.forEach { image -> selected.forEach { Wire.put64(image, it.at, 0) } }
        }
        val answer = PortCounters.at(mad, AT)
        for (counter in SHORTS) {
            val most = (1L shl counter.width) - 1
            val sum = images.fold(0L) { total, image -> limited(total, Wire.u64(image, counter.at), most) }
            answer[counter.field] = sum
        }
    }

    fun long(
        ports: List<Int>,
        mad: ByteArray,
        resets: Boolean,
    ) {
        val mask = Wire.u16(mad, AT + SELECT_AT)
        val mask2 = Wire.u32(mad, AT + SELECT_2_AT)
        val images = ports.mapNotNull { network.counters.known(it) }
        for (index in 0 until COUNTERS) {
            val isSelected = if (index < TRAFFIC) mask shr index and 1 != 0 else mask2 shr (index - TRAFFIC) and 1 != 0
            val at = FIRST + index * Long.SIZE_BYTES
            if (resets && isSelected) images.forEach { Wire.put64(it, at, 0) }
            val isSum = images.size > 1
            val value = if (isSum) images.fold(0L) { sum, image -> sum + Wire.u64(image, at) } else 0L
            Wire.put64(mad, AT + at, if (isSum) value else images.firstOrNull()?.let { Wire.u64(it, at) } ?: 0L)
        }
    }

    private fun limited(
        total: Long,
        value: Long,
        most: Long,
    ): Long = if (value < 0 || value > most) most else minOf(most, total + value)

    private companion object {
        const val FIRST = 8

        /** The counters that CounterSelect selects; CounterSelect2 has the errors behind them. */
        const val TRAFFIC = 8
        val COUNTERS = (PortCountersExtended.byteSize - FIRST) / Long.SIZE_BYTES
        const val WAIT_BIT = 16
        private const val ERRORS = 72

        /** They read the descriptions of all structures, which a program that reads no counters need not wait for. */
        private val SHORTS by lazy {
            listOf(
                "symbolErrorCounter",
                "linkErrorRecoveryCounter",
                "linkDownedCounter",
                "portRcvErrors",
                "portRcvRemotePhysicalErrors",
                "portRcvSwitchRelayErrors",
                "portXmitDiscards",
                "portXmitConstraintErrors",
                "portRcvConstraintErrors",
                "localLinkIntegrityErrors",
                "excessiveBufferOverrunErrors",
                "vl15Dropped",
            ).mapIndexed { index, name -> Short(index, name, ERRORS + index * Long.SIZE_BYTES) } +
                listOf(
                    Short(12, "portXmitData", Counters.SHORT_XMIT_DATA),
                    Short(13, "portRcvData", Counters.SHORT_RCV_DATA),
                    Short(14, "portXmitPkts", Counters.SHORT_XMIT_PACKETS),
                    Short(15, "portRcvPkts", Counters.SHORT_RCV_PACKETS),
                    Short(WAIT_BIT, "portXmitWait", XMIT_WAIT_AT),
                )
        }
        private const val XMIT_WAIT_AT = 168
    }
}
