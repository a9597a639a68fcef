package org.kverbs.ibtool.counters

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.ProgramResult
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.default
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import org.kverbs.ibtool.fabric.ChassisNumbers
import org.kverbs.ibtool.fabric.DiscoveringCommand
import org.kverbs.ibtool.fabric.DiscoveryOrder
import org.kverbs.ibtool.fabric.LinkLine
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.Watch
import org.kverbs.ibtool.session.each
import org.kverbs.ibtool.session.number
import org.kverbs.ibtool.session.portNumber
import org.kverbs.ibtool.session.printable
import org.kverbs.ibtool.session.problemOf
import org.kverbs.management.structures.NodeType
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.SubnetNode
import java.io.IOException
import java.nio.file.Path

/** `ibqueryerrors`: the ports whose error counters are high. */
internal class IbQueryErrorsCommand : DiscoveringCommand("ibqueryerrors", "cDGKLnRrSs") {
    private val suppressed by option("--suppress", "-s", metavar = "NAMES", help = "Counters to leave out: a,b,...")
        .convert { text -> text.split(',').onEach(::checkName) }
        .default(emptyList())
    private val suppressesCommon by option(
        "--suppress-common",
        "-c",
        help = "Leave out PortRcvSwitchRelayErrors",
    ).flag()
    private val guid by option(
        "--port-guid",
        "-G",
        "-S",
        metavar = "GUID",
        help = "Only the node with this port",
    ).convert {
        number(it)
    }
    private val path by option("--Direct", "-D", metavar = "PATH", help = "Only the node at the end of a directed path")
        .convert { text -> text.split(',').map { portNumber(it) } }
    private val skipsLevels by option("--skip-sl", help = "Send with service level 0, as always").flag()

    @Suppress("unused") // Old scripts give it; infiniband-diags ignores it, too.
    private val obsolete by option("-R", "--GNDN", hidden = true).flag()
    private val reportsLinks by option("--report-port", "-r", help = "Show the links of the ports, too").flag()
    private val thresholds by option(
        "--threshold-file",
        metavar = "FILE",
        help = "Lines name=value (${Thresholds.FILE})",
    ).convert { Path.of(it) }
    private val hasTraffic by option("--data", help = "Show the traffic of ports with errors, too").flag()
    private val isSwitches by option("--switch", help = "Only switches").flag()
    private val isHosts by option("--ca", help = "Only adapters").flag()
    private val isRouters by option("--router", help = "Only routers").flag()
    private val hasDetails by option("--details", help = "Show why packets were discarded or in error").flag()
    private val isTraffic by option("--counters", help = "Show traffic alone").flag()
    private val clearsErrors by option("--clear-errors", "-k", help = "Set the error counters to zero").flag()
    private val clearsTraffic by option("--clear-counts", "-K", help = "Set the traffic counters to zero").flag()
    private val isDry by option("--dry-run", help = "Do not set anything to zero").flag()

    override fun help(context: Context) =
        "Show the ports whose error counters are above their thresholds. The exit status is 1 if there are some."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool ibqueryerrors
          ibtool ibqueryerrors -r --details --suppress PortXmitWait
          ibtool ibqueryerrors -k -K
        """.trimIndent()

    private fun checkName(name: String) =
        require(name in ErrorCounters.names) {
            "there is no counter ${printable(name)}; give some of ${ErrorCounters.names.joinToString(",")}"
        }

    private val watch = Watch(this)

    /** infiniband-diags goes on without a file that it cannot read, and says nothing. */
    private fun limits(): Thresholds =
        try {
            Thresholds.read(thresholds) { warn(it) }
        } catch (e: IOException) {
            val file = printable("${thresholds ?: Thresholds.FILE}")
            warn("WARNING: no thresholds, as $file cannot be read: ${problemOf(e)}")
            Thresholds.none
        }

    override suspend fun execute(session: Session): Unit = watch.run(session, ::showGrowth) { look(session) }

    private suspend fun look(session: Session) {
        val subnet = subnet(session, isAsked = true)
        if (clearsErrors || clearsTraffic) session.requireWhole()
        val order = DiscoveryOrder(subnet)
        val links = if (reportsLinks) LinkLine(session.names, ChassisNumbers(order)) else null
        val limits = limits()
        val hidden = suppressed + if (suppressesCommon) listOf(ErrorCounters.RELAY) else emptyList()
        val wishes =
            ErrorQuery.Wishes(isTraffic, hasTraffic, hasDetails, clearsErrors && !isDry, clearsTraffic && !isDry)
        val query = ErrorQuery(session, limits, hidden.toSet(), links, wishes)
        val nodes = chosen(subnet, order).filter(::isWanted)
        val cleared = cleared(nodes.size)
        if (cleared != null && !isDry) warn("ibqueryerrors: sets $cleared to zero")
        val reports = session.each("reading counters of nodes", nodes) { query.node(it) }
        for (report in reports) report.warnings.forEach { warn(it) }
        val would = cleared?.takeIf { isDry }?.let { "set $it to zero" }
        if (options.json) printJson(reports, would) else printText(reports, limits, hidden)
        if (would != null && !options.json) would(would)
        if (reports.any { it.badPorts > 0 }) throw ProgramResult(1)
    }

    /** The counters that the options set to zero, or null. */
    private fun cleared(nodes: Int): String? {
        val kinds = listOfNotNull("errors".takeIf { clearsErrors }, "traffic".takeIf { clearsTraffic })
        return if (kinds.isEmpty()) null else "the counters of ${kinds.joinToString(" and ")} of $nodes nodes"
    }

    private fun isWanted(node: SubnetNode): Boolean {
        if (!isSwitches && !isHosts && !isRouters) return true
        return (isSwitches && node.isSwitch) || (isHosts && node.type == NodeType.CA) ||
            (isRouters && node.type == NodeType.ROUTER)
    }

    private fun chosen(
        subnet: Subnet,
        order: DiscoveryOrder,
    ): List<SubnetNode> {
        val guid = guid
        val path = path
        if (guid == null && path == null) return order.nodes
        val node =
            if (path == null) {
                subnet.ports.firstOrNull { it.guid.value == guid }?.node
            } else {
                path.fold(subnet.here?.node) { node, hop -> if (hop == 0) node else node?.port(hop)?.peer?.node }
            }
        val wanted = path?.joinToString(",") ?: guid?.let { "0x" + it.toString(16) }
        if (node == null) warn("Failed to find node: $wanted")
        return listOfNotNull(node)
    }

    private fun printText(
        reports: List<NodeReport>,
        limits: Thresholds,
        hidden: List<String>,
    ) {
        reports.forEach { print("${it.text}") }
        line("\n## Summary: ${reports.size} nodes checked, ${reports.count { it.isBad }} bad nodes found")
        line(
            "##          ${reports.sumOf {
                it.portsChecked
            }} ports checked, ${reports.sumOf { it.badPorts }} ports have errors beyond threshold",
        )
        line("## ${limits.text ?: "(null)"}")
        val failures = reports.sumOf { it.failures }
        if (failures > 0) line("##          $failures PMA query failures")
        line("## Suppressed:${hidden.joinToString("") { " $it" }}")
    }

    private fun printJson(
        reports: List<NodeReport>,
        would: String?,
    ) = print(
        buildJsonObject {
            would?.let { put("would", it) }
            put("nodesChecked", reports.size)
            put("badNodes", reports.count { it.isBad })
            put("portsChecked", reports.sumOf { it.portsChecked })
            put("badPorts", reports.sumOf { it.badPorts })
            put("ports", JsonArray(reports.flatMap { it.json }))
            put("failures", JsonArray(reports.flatMap { it.warnings }.map(::JsonPrimitive)))
        },
    )
}
