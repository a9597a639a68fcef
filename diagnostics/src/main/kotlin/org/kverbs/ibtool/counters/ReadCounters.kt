package org.kverbs.ibtool.counters

import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.path.LidPath
import org.kverbs.management.structures.ClassPortInfo
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.PortCounters
import org.kverbs.management.structures.PortCountersExtended
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.management.subnet.SubnetPort
import org.kverbs.management.transaction.MadClosedException
import org.kverbs.management.transaction.MadException
import kotlin.time.TimeSource

/**
 * The counters of several ports.
 *
 * @property failures the nodes that did not tell all of theirs, and why
 */
internal class PortReadings(
    val all: List<PortReading>,
    val failures: Map<SubnetNode, String>,
) {
    private val byPort = all.associateBy { it.port }

    fun of(port: SubnetPort): PortReading? = byPort[port]
}

/**
 * Reads the counters of [ports], of many nodes at once. A node that does not answer once is asked no more.
 *
 * @param clock gives the time of each reading
 */
internal suspend fun Fabric.readCounters(
    ports: List<SubnetPort>,
    clock: TimeSource.WithComparableMarks = TimeSource.Monotonic,
): PortReadings {
    val failures = LinkedHashMap<SubnetNode, String>()
    val nodes = ports.groupBy { it.node }
    val readings =
        coroutineScope { nodes.values.map { async { NodeCounters(this@readCounters, it, clock).read() } }.awaitAll() }
    for ((node, answer) in nodes.keys.zip(readings)) answer.failure?.let { failures[node] = it }
    return PortReadings(readings.flatMap { it.readings }, failures)
}

private class NodeCounters(
    private val fabric: Fabric,
    private val ports: List<SubnetPort>,
    private val clock: TimeSource.WithComparableMarks,
) {
    val readings = ArrayList<PortReading>()
    var failure: String? = null
        private set

    suspend fun read(): NodeCounters {
        try {
            // The ports of a switch share an agent; each port of a host has its own.
            val groups = if (ports.first().node.isSwitch) listOf(ports) else ports.map { listOf(it) }
            groups.forEach { ask(it) }
        } catch (e: MadClosedException) {
            throw e
        } catch (e: MadException) {
            failure = e.message
        }
        return this
    }

    private suspend fun ask(ports: List<SubnetPort>) {
        val lid = ports.first().lid
        if (!lid.isUnicast) {
            failure = "it has no LID"
            return
        }
        val path = LidPath(lid)
        val able = fabric.get<ClassPortInfo>(path, mgmtClass = ManagementClass.PERF)
        val hasExtended =
            able.capabilityMask and (PortCountersQuery.EXTENDED or PortCountersQuery.EXTENDED_WITHOUT_CASTS) != 0
        val hasWideErrors = able.capabilityMask2 and PortCountersQuery.ADDITIONAL != 0
        for (port in ports) {
            val plain = fabric.get<PortCounters>(path) { portSelect = port.number }
            if (able.capabilityMask and PortCountersQuery.XMIT_WAIT == 0) plain.portXmitWait = 0
            val extended =
                if (hasExtended) fabric.get<PortCountersExtended>(path) { portSelect = port.number } else null
            readings += PortReading(port, clock.markNow(), plain, extended, hasWideErrors)
        }
    }
}
