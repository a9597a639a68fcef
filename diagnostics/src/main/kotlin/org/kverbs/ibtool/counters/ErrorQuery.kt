package org.kverbs.ibtool.counters

import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonObject
import org.kverbs.ibtool.fabric.LinkLine
import org.kverbs.ibtool.fabric.SubnetJson
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.Target
import org.kverbs.ibtool.session.hex
import org.kverbs.ibtool.session.unsigned
import org.kverbs.ibtool.session.with
import org.kverbs.management.path.LidPath
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.management.subnet.SubnetPort
import org.kverbs.management.transaction.MadException
import org.kverbs.structures.Lid
import org.kverbs.structures.Structure

/** Asks a node for its counters, and reports those that are too high, as `ibqueryerrors` does. */
internal class ErrorQuery(
    private val session: Session,
    private val limits: Thresholds,
    private val hidden: Set<String>,
    private val links: LinkLine?,
    private val wishes: Wishes,
) {
    /** What the options ask for. */
    class Wishes(
        val trafficAlone: Boolean,
        val traffic: Boolean,
        val details: Boolean,
        val clearsErrors: Boolean,
        val clearsTraffic: Boolean,
    )

    private inner class Visit(
        val node: SubnetNode,
        val name: String,
    ) {
        val report = NodeReport()
        var hasHead = false

        fun head(text: String) {
            if (!hasHead) report.text.append(text).append('\n')
            hasHead = true
        }
    }

    suspend fun node(node: SubnetNode): NodeReport {
        val visit = Visit(node, session.names.of(node))
        val ports = node.ports.filter { it.number > 0 || node.switchInfo?.enhancedPort0 == true }
        val first = if (node.isSwitch) node.port(0) else ports.firstOrNull()
        val lid = first?.lid ?: Lid(0)
        if (!lid.isUnicast) {
            visit.report.failed("classportinfo query failed on ${visit.name}: it has no LID")
            return visit.report
        }
        val query = PortCountersQuery(session, Target(LidPath(lid)))
        val isAnswered =
            ask(visit, "classportinfo query failed on ${visit.name}, ${query.target} port ${first?.number}") {
                query.begin()
            } != null
        if (!isAnswered) return visit.report
        val hasAll = query.mask and PortCountersQuery.ALL_PORTS != 0
        val isClean = hasAll && !wishes.trafficAlone && !errors(visit, query, null)
        if (isClean) {
            visit.report.portsChecked += node.portCount
        } else {
            for (port in ports) {
                val own = (if (node.isSwitch) query else ofHost(visit, port)) ?: continue
                if (wishes.trafficAlone) traffic(visit, own, port) else errors(visit, own, port)
                visit.report.portsChecked++
                if (!hasAll) clear(visit, own, port.number)
            }
        }
        if (hasAll) clear(visit, query, ALL)
        return visit.report
    }

    /** Each port of a host or a router has an agent of its own; null if that does not answer. */
    private suspend fun ofHost(
        visit: Visit,
        port: SubnetPort,
    ): PortCountersQuery? {
        if (!port.lid.isUnicast) {
            visit.report.failed("classportinfo query failed on ${visit.name} port ${port.number}: it has no LID")
            return null
        }
        val query = PortCountersQuery(session, Target(LidPath(port.lid)))
        return ask(visit, "classportinfo query failed on ${visit.name}, ${query.target} port ${port.number}") {
            query.also { it.begin() }
        }
    }

    private suspend fun <T> ask(
        visit: Visit,
        message: String,
        question: suspend () -> T,
    ): T? =
        try {
            question()
        } catch (e: MadException) {
            visit.report.failed("$message: ${e.message}")
            null
        }

    private fun hasExtended(query: PortCountersQuery) =
        query.mask and (PortCountersQuery.EXTENDED or PortCountersQuery.EXTENDED_WITHOUT_CASTS) != 0

    /** Reports the errors of a port, or of all ports at once for null. Returns whether there are some. */
    private suspend fun errors(
        visit: Visit,
        query: PortCountersQuery,
        port: SubnetPort?,
    ): Boolean {
        val number = port?.number ?: ALL
        val where = "${visit.name}, ${query.target} port $number"
        val plain = ask(visit, "IB_GSI_PORT_COUNTERS query failed on $where") { query.plain(number) } ?: return false
        val extended =
            if (hasExtended(query)) {
                ask(visit, "IB_GSI_PORT_COUNTERS_EXT query failed on $where") { query.extended(number) } ?: return false
            } else {
                null
            }
        val high = LinkedHashMap<String, Long>()
        val text = StringBuilder()
        val isWide = query.hasWideErrors && extended != null
        for (name in ErrorCounters.names) {
            if (name in hidden) continue
            val from: Structure = if (isWide) checkNotNull(extended) else plain
            val value = from[ErrorCounters.field(name)] as Long
            if (!limits.isExceeded(name, value)) continue
            high[name] = value
            text
                .append(
                    " [$name == ${value.toULong()}",
                ).append(if (isWide) " (${humanReadable(value, false)})]" else "]")
            if (wishes.details) text.append(details(visit, query, name, number))
        }
        if (high.isEmpty()) return false
        if (wishes.traffic) text.append(traffic(plain, extended, query, false))
        show(visit, port, high, "$text")
        return true
    }

    private suspend fun details(
        visit: Visit,
        query: PortCountersQuery,
        name: String,
        port: Int,
    ): String {
        val kind =
            when (name) {
                ErrorCounters.DISCARDS -> CounterKind.DISCARDS
                ErrorCounters.RECEIVED -> CounterKind.ERRORS
                else -> return ""
            }
        val where = "${visit.name}, ${query.target} port $port"
        val counters = ask(visit, "${kind.title} query failed on $where") { query.other(kind, port) } ?: return ""
        return counters.description.fields
            .filter { it.label != null }
            .map { it.label to counters[it.name] as Long }
            .filter { (_, value) -> value != 0L }
            .joinToString("") { (label, value) -> " [$label == $value]" }
    }

    private fun show(
        visit: Visit,
        port: SubnetPort?,
        high: Map<String, Long>,
        text: String,
    ) {
        val node = visit.node
        val guid = hex((node.port(0)?.guid ?: node.guid).value)
        visit.head(if (node.isSwitch) "Errors for 0x$guid \"${visit.name}\"" else "Errors for \"${visit.name}\"")
        visit.report.isBad = true
        if (port == null) {
            if (node.isSwitch) visit.report.text.append("   GUID 0x$guid port ALL:$text\n")
            return
        }
        visit.report.text.append("   GUID 0x${hex(port.guid.value)} port ${port.number}:$text\n")
        link(visit, port)
        visit.report.badPorts++
        visit.report.json +=
            buildJsonObject {
                put("guid", SubnetJson.guid(node.guid.value))
                put("name", visit.name)
                put("port", port.number)
                put("lid", port.lid.value)
                putJsonObject("errors") { high.forEach { (name, value) -> put(name, unsigned(value)) } }
            }
    }

    private fun link(
        visit: Visit,
        port: SubnetPort,
    ) {
        val line = links?.of(port, guids = true) ?: return
        visit.report.text.append("       Link info: %6d".with(port.lid.value)).append(line).append('\n')
    }

    private suspend fun traffic(
        visit: Visit,
        query: PortCountersQuery,
        port: SubnetPort,
    ) {
        val where = "${visit.name}, ${query.target} port ${port.number}"
        val counters =
            ask<Structure>(visit, "PortCounters query failed on $where") {
                if (hasExtended(query)) query.extended(port.number) else query.plain(port.number)
            } ?: return
        val guid = hex(visit.node.guid.value)
        visit.head("Data Counters for 0x$guid \"${visit.name}\"")
        visit.report.text.append("   GUID 0x$guid port ${port.number}:")
        visit.report.text.append(traffic(counters, counters.takeIf { hasExtended(query) }, query, true)).append('\n')
        link(visit, port)
        visit.report.json +=
            buildJsonObject {
                put("guid", SubnetJson.guid(visit.node.guid.value))
                put("name", visit.name)
                put("port", port.number)
                put("lid", port.lid.value)
                putJsonObject("traffic") {
                    names(query).forEach { (name, field) ->
                        put(name, unsigned(counters[field] as Long))
                    }
                }
            }
    }

    private fun names(query: PortCountersQuery) = ErrorCounters.traffic(query.mask and PortCountersQuery.EXTENDED != 0)

    private fun traffic(
        plain: Structure,
        extended: Structure?,
        query: PortCountersQuery,
        hasZeros: Boolean,
    ): String {
        val names = if (extended == null) ErrorCounters.traffic(false) else names(query)
        val counters = extended ?: plain
        return names.entries.joinToString("") { (name, field) ->
            val value = counters[field] as Long
            val isShown = hasZeros || value != 0L
            if (isShown) " [$name == ${value.toULong()} (${humanReadable(value, name.endsWith("Data"))})]" else ""
        }
    }

    private suspend fun clear(
        visit: Visit,
        query: PortCountersQuery,
        port: Int,
    ) {
        val hasWait = query.mask and PortCountersQuery.XMIT_WAIT != 0
        var bits = 0L
        if (wishes.clearsErrors) bits = ERRORS or if (hasWait) WAIT else 0
        if (wishes.clearsTraffic) bits = bits or TRAFFIC
        if (bits == 0L) return
        val where = "${visit.name} port $port"
        ask(visit, "Failed to reset errors $where") { query.reset(port, bits, false) }
        if (wishes.clearsErrors && wishes.details) {
            ask(visit, "Failed to reset details $where") { query.reset(CounterKind.DISCARDS, port, DISCARDS) }
            ask(visit, "Failed to reset details $where") { query.reset(CounterKind.ERRORS, port, RECEIVED) }
        }
        if (!hasExtended(query)) return
        var wide = 0L
        if (wishes.clearsTraffic) wide = if (query.mask and PortCountersQuery.EXTENDED != 0) WIDE_TRAFFIC else WIDE_DATA
        if (wishes.clearsErrors && query.hasWideErrors) wide = wide or WIDE_ERRORS or if (hasWait) WIDE_WAIT else 0
        if (wide != 0L) ask(visit, "Failed to reset extended data counters $where") { query.reset(port, wide, true) }
    }

    private companion object {
        private const val ALL = 255
        private const val ERRORS = 0xfffL
        private const val WAIT = 0x10000L
        private const val TRAFFIC = 0xf000L
        private const val DISCARDS = 0xfL
        private const val RECEIVED = 0x3fL
        private const val WIDE_TRAFFIC = 0xffL
        private const val WIDE_DATA = 0xfL
        private const val WIDE_ERRORS = 0xfff0000L
        private const val WIDE_WAIT = 1L shl 28
    }
}
