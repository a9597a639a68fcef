package org.kverbs.ibtool.counters

import org.kverbs.management.structures.PortCounters
import org.kverbs.management.structures.PortCountersExtended
import org.kverbs.management.subnet.SubnetPort
import org.kverbs.structures.Structure
import kotlin.time.ComparableTimeMark

/**
 * The counters of a port at one moment.
 *
 * @property time when the port answered with its counters of traffic
 * @property extended the 64-bit counters, if the port has them
 * @property hasWideErrors whether these count errors, too
 */
internal class PortReading(
    val port: SubnetPort,
    val time: ComparableTimeMark,
    private val plain: PortCounters,
    private val extended: PortCountersExtended?,
    private val hasWideErrors: Boolean,
) {
    /** The error counters by their names. */
    val errors: Map<String, Long> by lazy {
        val from: Structure = if (hasWideErrors && extended != null) extended else plain
        ErrorCounters.names.associateWith { from[ErrorCounters.field(it)] as Long }
    }

    val sentBytes: Long get() = traffic("portXmitData") * WORD
    val receivedBytes: Long get() = traffic("portRcvData") * WORD
    val sentPackets: Long get() = traffic("portXmitPkts")
    val receivedPackets: Long get() = traffic("portRcvPkts")

    private fun traffic(field: String): Long = (extended ?: plain)[field] as Long

    private companion object {
        /** Data is counted in words of four bytes. */
        private const val WORD = 4L
    }
}
