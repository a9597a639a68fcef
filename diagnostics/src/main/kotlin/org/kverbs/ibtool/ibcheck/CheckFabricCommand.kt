package org.kverbs.ibtool.ibcheck

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.GroupableOption
import com.github.ajalt.clikt.core.ProgramResult
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonArray
import org.kverbs.ibtool.counters.readCounters
import org.kverbs.ibtool.fabric.DiscoveringCommand
import org.kverbs.ibtool.fabric.DiscoveryOrder
import org.kverbs.ibtool.health.PortText
import org.kverbs.ibtool.session.Session
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.management.subnet.SubnetPort
import java.nio.file.Path

/** `ibchecknet`, `ibcheckstate`, `ibcheckwidth` and `ibcheckerrors`: all ports of the fabric that have a link. */
internal class CheckFabricCommand(
    name: String,
    private val what: String,
    private val checks: List<PortChecks>,
    private val hasErrors: Boolean,
) : DiscoveringCommand(name, "DGKLes") {
    private val isBrief by option("-b", help = "Show the summary alone").flag()
    private val fileOption =
        option("-T", metavar = "FILE", help = "A file of lines name=value, with # before comments")
            .convert { Path.of(it) }
            .takeIf { hasErrors }
            ?.also { registerOption(it as GroupableOption) }

    @Suppress("unused") // There are no colours.
    private val isPlain by option("-N", "--nocolor", help = "Does nothing: there are no colours").flag()

    private val lines = ArrayList<String>()
    private val badNodes = HashSet<SubnetNode>()
    private val badPorts = HashSet<SubnetPort>()
    private val portsWithErrors = HashSet<SubnetPort>()

    override fun help(context: Context) = "Check $what of all links. The exit status is 255 if something is wrong."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool $commandName
          ibtool $commandName -b --fabric fat-tree:4
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val limits = CheckLimits.read(fileOption?.value)
        val subnet = subnet(session, isAsked = hasErrors)
        val nodes = DiscoveryOrder(subnet).nodes
        val ports = nodes.flatMap { node -> node.ports.filter { it.number > 0 && it.peer != null } }
        val texts = PortText(session.names)
        for (port in ports) settings(port, texts)
        if (hasErrors) errors(session, ports, limits, texts)
        if (options.json) json(nodes.size, ports.size) else text(nodes.size, ports.size)
        if (badNodes.isNotEmpty() || badPorts.isNotEmpty() || portsWithErrors.isNotEmpty()) throw ProgramResult(FAILED)
    }

    private fun settings(
        port: SubnetPort,
        texts: PortText,
    ) {
        if (checks.isEmpty()) return
        val info = port.info ?: return unknown(port, texts)
        val own = (if (port.node.isSwitch) port.node.port(0) else port)?.info ?: info
        for (check in checks) {
            for (fault in check.faults(if (check == PortChecks.SETTINGS) own else info)) {
                lines += "#warn: $fault: ${texts.of(port)}"
                badPorts += port
            }
        }
    }

    private fun unknown(
        port: SubnetPort,
        texts: PortText,
    ) {
        lines += "#warn: Its state is not known: ${texts.of(port)}"
        badPorts += port
    }

    private suspend fun errors(
        session: Session,
        ports: List<SubnetPort>,
        limits: CheckLimits,
        texts: PortText,
    ) {
        val readings =
            session.working({ "reading the counters of ${ports.size} ports" }) { session.fabric.readCounters(ports) }
        for (reading in readings.all) {
            for ((counter, value) in reading.errors) {
                if (!limits.isExceeded(counter, value)) continue
                val limit = "(threshold ${limits.of(counter)})"
                lines += "#warn: counter $counter = ${value.toULong()} $limit: ${texts.of(reading.port)}"
                portsWithErrors += reading.port
            }
        }
        for ((node, text) in readings.failures) {
            lines += "#warn: ${texts.of(node)} tells no counters: ${PortText.safe(text)}"
            badNodes += node
        }
    }

    private fun text(
        nodes: Int,
        ports: Int,
    ) {
        if (!isBrief) lines.forEach { line(it) }
        line("\n## Summary: $nodes nodes checked, ${badNodes.size} bad nodes found")
        if (checks.isNotEmpty()) line("##          $ports ports checked, ${badPorts.size} bad ports found")
        if (hasErrors) {
            val checked = if (checks.isEmpty()) "$ports ports checked, " else ""
            line("##          $checked${portsWithErrors.size} ports have errors beyond threshold")
        }
    }

    private fun json(
        nodes: Int,
        ports: Int,
    ) = print(
        buildJsonObject {
            put("nodesChecked", nodes)
            put("badNodes", badNodes.size)
            put("portsChecked", ports)
            put("badPorts", badPorts.size)
            put("portsWithErrors", portsWithErrors.size)
            putJsonArray("faults") { lines.forEach { add(JsonPrimitive(it.removePrefix("#warn: "))) } }
        },
    )

    private companion object {
        private const val FAILED = 255
    }
}
