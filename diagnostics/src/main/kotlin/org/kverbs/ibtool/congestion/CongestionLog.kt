package org.kverbs.ibtool.congestion

import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Dotted
import org.kverbs.ibtool.session.Target
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.structures.CongestionLogCA
import org.kverbs.management.structures.CongestionLogSwitch
import org.kverbs.structures.Structure
import org.kverbs.structures.toJson

/** The log of congestion: switches have another than adapters, and its type says which it is. */
internal object CongestionLog {
    private const val OF_SWITCH = 1
    private const val OF_CA = 2
    private const val SWITCH_EVENTS = 15
    private const val CA_EVENTS = 13
    private val common = listOf("LogType", "CongestionFlags")
    private val rowsOfSwitch = listOf("LogEventsCounter", "CurrentTimeStamp", "PortMap")
    private val rowsOfCa = listOf("ThresholdEventCounter", "ThresholdCongestionEventMap", "CurrentTimeStamp")

    suspend fun report(
        fabric: Fabric,
        target: Target,
    ): CongestionReport {
        val log = fabric.get<CongestionLogSwitch>(target.path)
        return when (log.logType.value) {
            OF_SWITCH -> {
                report(target, log, rowsOfSwitch, (0 until SWITCH_EVENTS).map { log.congestionEntry[it] })
            }

            OF_CA -> {
                val ofCa = CongestionLogCA.of(log.bytes())
                report(target, ofCa, rowsOfCa, (0 until CA_EVENTS).map { ofCa.congestionLogEvent[it] })
            }

            else -> {
                throw DiagnosticException("unrecognized log type")
            }
        }
    }

    private fun report(
        target: Target,
        log: Structure,
        rows: List<String>,
        events: List<Structure>,
    ): CongestionReport {
        val text = Dotted(log)
        val happened = events.filter { event -> event.bytes().any { it != 0.toByte() } }
        return CongestionReport(
            "# CongestionLog: $target\n${text.text(common)}${text.text(rows)}\n" +
                happened.joinToString("") { Dotted(it).without() + "\n" },
            log.toJson(),
        )
    }
}
