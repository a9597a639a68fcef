package org.kverbs.ibtool.health

import org.kverbs.ibtool.counters.PortReadings
import org.kverbs.ibtool.counters.Thresholds
import org.kverbs.ibtool.counters.readCounters
import org.kverbs.ibtool.health.Finding.Check
import org.kverbs.ibtool.session.NodeNames
import org.kverbs.management.check.RouteReport
import org.kverbs.management.check.checkRoutes
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.structures.PortPhysicalState
import org.kverbs.management.structures.PortState
import org.kverbs.management.subnet.ForwardingTables
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.SubnetLink
import org.kverbs.management.subnet.SubnetProblemKind
import org.kverbs.management.subnet.forwardingTables

/** Looks at a fabric for all that [HealthReport] has. */
internal class HealthChecks(
    private val fabric: Fabric,
    private val subnet: Subnet,
    private val names: NodeNames,
    private val wishes: Wishes = Wishes(),
    private val tables: suspend () -> ForwardingTables = { fabric.forwardingTables(subnet, multicast = false) },
) {
    /** What the options ask for. */
    class Wishes(
        val limits: Thresholds = Thresholds.none,
        val hidden: Set<String> = emptySet(),
        val skipped: Set<Check> = emptySet(),
        val imbalance: Double = org.kverbs.management.check.DEFAULT_IMBALANCE,
    )

    private val texts = PortText(names)
    private val findings = ArrayList<Finding>()

    private fun isWanted(check: Check) = check !in wishes.skipped

    suspend fun run(): HealthReport {
        if (isWanted(Check.NODES)) nodes()
        if (isWanted(Check.IDENTITIES)) identities()
        val managers = if (isWanted(Check.MANAGER)) Managers(fabric, subnet, texts).find() else null
        managers?.let { findings += it.findings }
        if (isWanted(Check.LINKS)) links()
        val readings = if (isWanted(Check.COUNTERS)) counters() else null
        val routes = if (isWanted(Check.ROUTES)) routes() else null
        return HealthReport(subnet, findings, readings, routes, managers?.masters ?: 0, wishes.skipped)
    }

    private fun nodes() {
        for (problem in subnet.problems) {
            if (problem.kind == SubnetProblemKind.DUPLICATE_GUID) continue
            val port = problem.node?.let { subnet.node(it) }?.let { node -> problem.port?.let { node.port(it) } }
            findings += Finding(Check.NODES, Severity.WARNING, safe("$problem"), port)
        }
    }

    private fun identities() {
        for (problem in subnet.problems) {
            if (problem.kind == SubnetProblemKind.DUPLICATE_GUID) {
                findings += Finding(Check.IDENTITIES, Severity.CRITICAL, safe("$problem"))
            }
        }
        for ((lid, ports) in subnet.duplicateLids) {
            val text = "the LID $lid belongs to ${ports.joinToString(" and ") { texts.of(it) }}"
            findings += Finding(Check.IDENTITIES, Severity.CRITICAL, text, ports.first())
        }
    }

    private fun links() {
        for (link in subnet.links) {
            val could = "; both ends have ${link.enabledRate} enabled"
            if (link.isSlowerThanEnabled) warn(link, "runs at the speed of ${link.rate}$could")
            if (link.isNarrowerThanEnabled) warn(link, "runs at the width of ${link.rate}$could")
            if (link.isAsymmetric) warn(link, "is not the same at both ends")
        }
        for (port in subnet.ports) {
            val isUp = port.number > 0 && port.physicalState == PortPhysicalState.LINK_UP
            val state = port.state ?: continue
            if (isUp && state != PortState.ACTIVE) {
                val name = "$state".substringBefore('(')
                findings += Finding(Check.LINKS, Severity.WARNING, "${texts.of(port)} is $name, not ACTIVE", port)
            }
        }
    }

    private fun warn(
        link: SubnetLink,
        what: String,
    ) {
        val ends = "${texts.of(link.a)} - ${texts.of(link.b)}"
        findings += Finding(Check.LINKS, Severity.WARNING, "$ends $what", link.a)
    }

    private suspend fun counters(): PortReadings {
        val readings = fabric.readCounters(subnet.ports.filter { it.number > 0 && it.peer != null })
        for (reading in readings.all) {
            for ((name, value) in reading.errors) {
                if (name in wishes.hidden || !wishes.limits.isExceeded(name, value)) continue
                val text = "${texts.of(reading.port)}: $name is ${value.toULong()}"
                findings += Finding(Check.COUNTERS, Severity.WARNING, text, reading.port)
            }
        }
        for ((node, text) in readings.failures) {
            findings += Finding(Check.COUNTERS, Severity.WARNING, "${texts.of(node)} tells no counters: ${safe(text)}")
        }
        return readings
    }

    private suspend fun routes(): RouteReport {
        val tables = tables()
        val report = tables.checkRoutes(wishes.imbalance, 1)
        val route = Check.ROUTES
        for (problem in tables.problems) findings += Finding(route, Severity.WARNING, safe("$problem"))
        if (report.portsWithoutLid > 0) {
            val text = "${report.portsWithoutLid} linked ports have no LID, so no route leads to them"
            findings += Finding(route, Severity.CRITICAL, text)
        }
        report.unreachable.firstOrNull()?.let {
            val count = "${report.unreachableCount} of ${report.pairs} pairs of ports do not reach each other"
            val circles = if (report.circleCount > 0) ", ${report.circleCount} of them because of a circle" else ""
            val first = "${texts.of(it.from)} -> ${texts.of(it.to)}"
            findings += Finding(route, Severity.CRITICAL, "$count$circles, such as $first", it.from)
        }
        for (loop in report.creditLoops) {
            val ports = loop.hops.joinToString(" -> ") { texts.of(it.out) }
            findings +=
                Finding(route, Severity.WARNING, "credit loop on one virtual lane: $ports", loop.hops.first().out)
        }
        for (pair in report.unbalanced) {
            val text =
                "${texts.of(
                    pair.busy,
                )} carries ${pair.busyLids} LIDs, and port ${pair.idle.number}, which is as near, " +
                    "${pair.idleLids}"
            findings += Finding(route, Severity.WARNING, text, pair.busy)
        }
        return report
    }

    private fun safe(text: String) = PortText.safe(text)
}
