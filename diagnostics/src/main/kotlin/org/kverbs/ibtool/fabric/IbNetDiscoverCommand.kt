package org.kverbs.ibtool.fabric

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.UsageError
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.arguments.optional
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.default
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import org.kverbs.ibtool.session.OutputFile
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.hex
import org.kverbs.ibtool.session.hex16
import org.kverbs.ibtool.session.pretty
import org.kverbs.management.structures.NodeType
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.SubnetNode
import java.nio.file.Path
import java.time.ZonedDateTime
import java.time.format.DateTimeFormatter
import java.util.Locale
import kotlin.io.path.exists
import kotlin.io.path.writeText

/** `ibnetdiscover`: the topology of the fabric. */
internal class IbNetDiscoverCommand : DiscoveringCommand("ibnetdiscover", "DGKLs", hasCache = false) {
    private val isFull by option("--full", "-f", help = "Show speed, width and virtual lanes as numbers, too").flag()
    private val shows by option("--show", "-s", help = "Show each node when it is found").flag()
    private val lists by option("--list", "-l", help = "List the nodes").flag()
    private val groups by option("--grouping", "-g", help = "Group the nodes by chassis").flag()
    private val listsHosts by option("--Hca_list", "-H", help = "List the adapters").flag()
    private val listsSwitches by option("--Switch_list", "-S", help = "List the switches").flag()
    private val listsRouters by option("--Router_list", "-R", help = "List the routers").flag()
    private val cache by option(
        "--cache",
        metavar = "FILE",
        help = "Save the topology, whether the file is there or not",
    ).convert {
        Path.of(it)
    }
    private val older by option("--diff", metavar = "FILE", help = "Show what is different from a saved topology")
        .convert { Path.of(it) }
    private val checks by option(
        "--diffcheck",
        metavar = "KEYS",
        help = "What --diff compares: sw,ca,router,port,lid,nodedesc",
    ).convert { keys -> keys.split(',').map { check(it) ?: fail("invalid diff check key: $it") }.toSet() }
        .default(TopologyDifference.Check.default)
    private val reportsPorts by option("--ports", "-p", help = "Show a line for each port").flag()
    private val reportsHops by option("--max_hops", "-m", help = "Show how far the farthest node is").flag()
    private val file by argument("topology-file", help = "Where the topology is written; standard output without it")
        .convert { Path.of(it) }
        .optional()

    override fun help(context: Context) = "Discover the fabric, and print its topology in a form that ibsim reads."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool ibnetdiscover
          ibtool ibnetdiscover --fabric fat-tree:4 -l
          ibtool ibnetdiscover --cache yesterday; ibtool ibnetdiscover --diff yesterday
        """.trimIndent()

    private fun check(key: String) =
        TopologyDifference.Check.entries.firstOrNull { it.key.equals(key, ignoreCase = true) }

    override suspend fun execute(session: Session) {
        if (options.json && (older != null || reportsPorts)) {
            throw UsageError("--diff and --ports print text alone: leave out --json; subnet_diff --json compares")
        }
        val before = older?.let { DiscoveryOrder(load(it)) }
        val subnet = subnet(session)
        if (file?.exists() == true) session.requireWhole()
        val order = DiscoveryOrder(subnet)
        if (shows && !isLoaded && !options.json) order.nodes.asReversed().forEach { line(found(session, order, it)) }
        val kinds = kinds()
        val chassis = if (groups) ChassisNumbers(order) else null
        val text = TopologyText(session.names, isFull, chassis)
        when {
            options.json -> write(pretty(SubnetJson(session.names).of(subnet, chosen(order, kinds))) + "\n")
            reportsPorts -> order.nodes.forEach { print(PortsReport(session.names).of(it)) }
            kinds.isNotEmpty() -> kinds.flatMap(order::nodes).forEach { write(listed(session, it)) }
            before != null -> write(TopologyDifference(before, order, checks, text).print())
            else -> write(topology(subnet, order, text, chassis))
        }
        cache?.let { save(session, subnet, "--cache", it) }
        file?.let { file -> OutputFile.writing("the topology file", file) { it.writeText(written) } }
    }

    private fun chosen(
        order: DiscoveryOrder,
        kinds: List<NodeType>,
    ): List<SubnetNode> = if (kinds.isEmpty() || lists) order.nodes else kinds.flatMap(order::nodes)

    private val written = StringBuilder()

    private fun write(text: String) {
        if (file == null) print(text) else written.append(text)
    }

    private fun kinds(): List<NodeType> =
        when {
            listsRouters -> listOf(NodeType.ROUTER)
            listsHosts -> listOf(NodeType.CA)
            listsSwitches -> listOf(NodeType.SWITCH)
            lists -> listOf(NodeType.CA, NodeType.SWITCH, NodeType.ROUTER)
            else -> emptyList()
        }

    private fun listed(
        session: Session,
        node: SubnetNode,
    ): String {
        val kind =
            when (node.type) {
                NodeType.SWITCH -> "Switch"
                NodeType.CA -> "Ca"
                NodeType.ROUTER -> "Router"
                else -> "???"
            }
        return "$kind\t : 0x${hex16(node.guid.value)} ports ${node.portCount} devid 0x${hex(node.info.deviceID)} " +
            "vendid 0x${hex(node.info.vendorID)} \"${session.names.of(node)}\"\n"
    }

    /** C prints this line before it knows LID and name of the node. */
    private fun found(
        session: Session,
        order: DiscoveryOrder,
        node: SubnetNode,
    ): String {
        val port =
            if (node.isSwitch) {
                node.port(0)
            } else {
                node.ports.firstOrNull { it.lid.isUnicast }
                    ?: node.ports.firstOrNull()
            }
        val lid = port?.lid?.value ?: 0
        val last = lid + (1 shl (port?.lmc ?: 0)) - 1
        val kind =
            when (node.type) {
                NodeType.SWITCH -> "Switch"
                NodeType.CA -> "Channel Adapter"
                else -> "Router"
            }
        return "DR path slid 0; dlid 0; ${order.path(node).hops.joinToString(",")} -> new $kind " +
            "{${hex16(node.guid.value)}} portnum ${port?.number ?: 0} lid $lid-$last \"${session.names.of(node)}\""
    }

    private fun topology(
        subnet: Subnet,
        order: DiscoveryOrder,
        text: TopologyText,
        chassis: ChassisNumbers?,
    ): String =
        buildString {
            append("#\n# Topology file: generated on ${now()}\n#\n")
            if (reportsHops) {
                append("# Reported max hops discovered: ${order.hops}\n# Total MADs used: ${order.questionCount}\n")
            }
            subnet.here?.node?.let {
                append("# Initiated from node ${hex16(it.guid.value)} port ${hex16(it.info.portGUID.value)}\n")
            }
            chassis?.groups?.forEach { group(it, text) }
            if (chassis != null) append("\nNon-Chassis Nodes\n")
            for (node in order.switches + order.hosts + order.routers) {
                if (chassis?.of(node) == null) append(text.node(node)).append(text.ports(node))
            }
        }

    private fun StringBuilder.group(
        group: ChassisNumbers.Group,
        text: TopologyText,
    ) {
        append("\nChassis ${group.number}")
        if (group.guid != 0L) append(" (guid 0x${hex(group.guid)})")
        append('\n')
        append("\n# Spine Nodes")
        group.spines.values.forEach { append(text.node(it)).append(text.ports(it)) }
        append("\n# Line Nodes")
        group.lines.values.forEach { append(text.node(it)).append(text.ports(it)) }
        append("\n# Chassis Switches")
        group.nodes.filter { it.isSwitch }.forEach { append(text.node(it)).append(text.ports(it)) }
        append("\n# Chassis CAs")
        group.nodes.filter { it.type == NodeType.CA }.forEach { append(text.node(it)).append(text.ports(it)) }
    }

    private fun now(): String = ZonedDateTime.now().format(ctime)

    private companion object {
        private val ctime = DateTimeFormatter.ofPattern("EEE MMM ppd HH:mm:ss yyyy", Locale.ROOT)
    }
}
