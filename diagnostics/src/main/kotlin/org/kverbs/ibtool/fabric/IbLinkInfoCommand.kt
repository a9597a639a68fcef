package org.kverbs.ibtool.fabric

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.UsageError
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.default
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.Watch
import org.kverbs.ibtool.session.hex16
import org.kverbs.ibtool.session.int
import org.kverbs.ibtool.session.number
import org.kverbs.ibtool.session.portNumber
import org.kverbs.ibtool.session.with
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PortState
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.management.subnet.SubnetPort
import java.nio.file.Path

/** `iblinkinfo`: all links of the fabric. */
internal class IbLinkInfoCommand : DiscoveringCommand("iblinkinfo", "aDdGgKLlnpRS") {
    private val guid by option(
        "--switch",
        "-S",
        "--port-guid",
        "-G",
        metavar = "GUID",
        help = "Only the node with this port",
    ).convert { number(it) }
    private val path by option("--Direct", "-D", metavar = "PATH", help = "Only the node at the end of a directed path")
        .convert { text -> text.split(',').map { portNumber(it) } }
    private val isAll by option("--all", "-a", help = "With -S or -D: the nodes around it, too").flag()
    private val hops by option("--hops", "-n", metavar = "N", help = "With --all: how many links around it")
        .convert {
            int(it)
        }.default(1)
    private val isDown by option("--down", "-d", help = "Show the links that are down").flag()
    private val isLine by option("--line", "-l", help = "Show each link in a line of its own").flag()
    private val hasSettings by option("--additional", "-p", help = "Show HoqLife and VLStallCount").flag()
    private val older by option(
        "--diff",
        metavar = "FILE",
        help = "Show what is different from a saved topology",
    ).convert {
        Path.of(it)
    }
    private val checks by option(
        "--diffcheck",
        metavar = "KEYS",
        help = "What --diff compares: port,state,lid,nodedesc",
    ).convert { keys ->
        keys
            .split(',')
            .map { it.lowercase() }
            .also { all ->
                all.forEach {
                    if (it !in
                        keysOfDiff
                    ) {
                        fail("invalid diff check key: $it")
                    }
                }
            }.toSet()
    }.default(setOf("port", "state"))
    private val known by option(
        "--filterdownports",
        metavar = "FILE",
        help = "Leave out ports that were down in a saved topology",
    ).convert { Path.of(it) }
    private val isSwitches by option("--switches-only", help = "Show the switches").flag()
    private val isHosts by option("--cas-only", help = "Show the adapters").flag()

    override fun help(context: Context) = "Show all links of the fabric, with width, speed and state."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool iblinkinfo
          ibtool iblinkinfo -l --switches-only
          ibtool iblinkinfo -S 0x2c90200000010
        """.trimIndent()

    private lateinit var session: Session
    private lateinit var wasDown: Set<Pair<Long, Int>>

    private val watch = Watch(this)

    override suspend fun execute(session: Session): Unit = watch.run(session, ::showGrowth) { look(session) }

    private suspend fun look(session: Session) {
        this.session = session
        if (options.json && older != null) {
            throw UsageError("--diff prints text alone: leave out --json; subnet_diff --json compares")
        }
        if (path != null && isLoaded) throw DiagnosticException("Cannot specify cache and direct route path", 1)
        val subnet = subnet(session)
        val order = DiscoveryOrder(subnet)
        wasDown = known?.let(::downPorts).orEmpty()
        val line = LinkLine(session.names, ChassisNumbers(order))
        val nodes = chosen(subnet, order).filter(::isWanted)
        val old = older?.let { DiscoveryOrder(load(it)) }
        when {
            options.json -> print(SubnetJson(session.names).of(subnet, nodes) { isShown(it) && !isKnownDown(it) })
            old != null -> compare(old, order, line)
            else -> nodes.forEach { print(text(it, line, "")) }
        }
    }

    private fun isWanted(node: SubnetNode) =
        (!isSwitches && !isHosts) || (isSwitches && node.isSwitch) || (isHosts && node.type == NodeType.CA)

    private fun downPorts(file: Path): Set<Pair<Long, Int>> =
        load(file)
            .ports
            .filter { it.state == PortState.DOWN }
            .map { it.node.guid.value to it.number }
            .toSet()

    private fun chosen(
        subnet: Subnet,
        order: DiscoveryOrder,
    ): List<SubnetNode> {
        val guid = guid
        val path = path
        if (guid == null && path == null) return order.nodes
        val node =
            if (path != null) {
                follow(subnet, path)
            } else {
                subnet.ports.firstOrNull { it.guid.value == guid }?.node
            }
        if (node == null) {
            warn("Failed to find port: ${path?.joinToString(",") ?: "0x${hex16(guid ?: 0)}"}")
            return emptyList()
        }
        if (!isAll) return listOf(node)
        return order.nodes.filter { other -> subnet.shortestRoute(node, other)?.let { it.hops.size <= hops } ?: false }
    }

    private fun follow(
        subnet: Subnet,
        hops: List<Int>,
    ): SubnetNode? = hops.fold(subnet.here?.node) { node, hop -> if (hop == 0) node else node?.port(hop)?.peer?.node }

    private fun text(
        node: SubnetNode,
        line: LinkLine,
        prefix: String,
    ): String {
        val ports = node.ports.filter { it.number > 0 && isShown(it) }
        val head = if (ports.isEmpty()) "" else head(node, prefix)
        return head + ports.filterNot(::isKnownDown).joinToString("") { port(it, line, prefix) }
    }

    private fun isShown(port: SubnetPort) = !isDown || port.state == PortState.DOWN

    private fun isKnownDown(port: SubnetPort) =
        port.state == PortState.DOWN && port.node.guid.value to port.number in wasDown

    private fun head(
        node: SubnetNode,
        prefix: String,
    ): String {
        if (isLine) return ""
        val name = session.names.of(node)
        return when (node.type) {
            NodeType.SWITCH -> "${prefix}Switch: 0x${hex16((node.port(0)?.guid ?: node.info.portGUID).value)} $name:\n"
            NodeType.CA -> "${prefix}CA: $name:\n"
            NodeType.ROUTER -> "${prefix}Router: $name:\n"
            else -> "$prefix??: $name:\n"
        }
    }

    private fun port(
        port: SubnetPort,
        line: LinkLine,
        prefix: String,
    ): String {
        val isUp = port.state != PortState.DOWN
        val info = port.info
        val settings =
            if (hasSettings &&
                isUp
            ) {
                " (HOQ:${info?.hoqLife ?: 0} VL_Stall:${info?.vlStallCount ?: 0})"
            } else {
                ""
            }
        val guid = "0x${hex16(port.guid.value)}"
        val head =
            when {
                isLine -> "$guid \"%30s\" ".with(session.names.of(port.node))
                port.node.isSwitch -> "      "
                else -> "      $guid "
            }
        return "$prefix$head%6d ".with(port.lid.value) + line.of(port, isLine, settings) + "\n"
    }

    private fun compare(
        old: DiscoveryOrder,
        new: DiscoveryOrder,
        line: LinkLine,
    ) {
        val after = new.nodes.associateBy { it.guid }
        val before = old.nodes.associateBy { it.guid }
        for (node in old.nodes.filter(::isWanted)) {
            val same = after[node.guid]
            if (same == null) print(text(node, line, OLDER)) else compare(node, same, line)
        }
        for (node in new.nodes.filter(::isWanted)) if (node.guid !in before) print(text(node, line, NEWER))
    }

    private fun compare(
        old: SubnetNode,
        new: SubnetNode,
        line: LinkLine,
    ) {
        val isMoved = "lid" in checks && old.isSwitch && old.port(0)?.lid != new.port(0)?.lid
        val isRenamed = "nodedesc" in checks && old.nodeDescription != new.nodeDescription
        var hasHead = isMoved || isRenamed
        if (hasHead) print(head(old, OLDER) + head(new, NEWER))
        for (number in 1..maxOf(old.portCount, new.portCount)) {
            val before = old.port(number)
            val now = new.port(number)
            if ((before == null && now == null) || !isDifferent(before, now)) continue
            if (!hasHead) print(head(old, ""))
            hasHead = true
            before?.let { print(port(it, line, OLDER)) }
            now?.let { print(port(it, line, NEWER)) }
        }
    }

    private fun isDifferent(
        old: SubnetPort?,
        new: SubnetPort?,
    ): Boolean {
        val isConnection = "port" in checks && (old == null || new == null || old.peer?.guid != new.peer?.guid)
        if (isConnection || old == null || new == null) return isConnection
        val ends = old.peer to new.peer
        return ("state" in checks && old.state != new.state) ||
            ("port" in checks && "lid" in checks && ends.first?.lid != ends.second?.lid) ||
            (
                "port" in checks && "nodedesc" in checks &&
                    ends.first?.node?.nodeDescription != ends.second?.node?.nodeDescription
            )
    }

    private companion object {
        private const val OLDER = "< "
        private const val NEWER = "> "
        private val keysOfDiff = setOf("port", "state", "lid", "nodedesc")
    }
}
