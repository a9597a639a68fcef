package org.kverbs.ibtool.routes

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonArray
import kotlinx.serialization.json.putJsonObject
import org.kverbs.ibtool.fabric.DiscoveringCommand
import org.kverbs.ibtool.fabric.DiscoveryOrder
import org.kverbs.ibtool.fabric.NamedNodes
import org.kverbs.ibtool.fabric.SubnetJson
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.portNumber
import org.kverbs.ibtool.session.printable
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.management.subnet.SubnetPort

/** `ibfindnodesusing`: the hosts that are reached by a link, in both of its directions. */
internal class IbFindNodesUsingCommand : DiscoveringCommand("ibfindnodesusing", "DGKLs") {
    @Suppress("unused") // Scripts give it.
    private val isAnew by option("-R", help = "Does nothing: each run without --load-cache looks at the fabric").flag()
    private val switch by argument("switch", help = "The GUID, name or description of a switch")
    private val port by argument("port", help = "A port of the switch").convert { portNumber(it) }

    override fun help(context: Context) = "List the hosts whose packets go through a link, in both of its directions."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool ibfindnodesusing 0x0002c90200000010 4
          ibtool ibfindnodesusing spine 4
          ibtool ibfindnodesusing S-1 1 --fabric fat-tree:4
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val subnet = subnet(session, isAsked = true)
        val order = DiscoveryOrder(subnet)
        val named = NamedNodes(session.names).find(order.switches, switch)
        if (named.size > 1) throw ambiguous(named)
        val node =
            named.firstOrNull() ?: throw DiagnosticException("Switch \"${printable(switch)}\" not found", NOT_FOUND)
        val here = node.port(port)?.takeIf { it.number > 0 }
        val peer = here?.peer
        val out = hosts(session, subnet, order, node, port)
        val back = peer?.let { hosts(session, subnet, order, it.node, it.number) }.orEmpty()
        if (options.json) return print(json(session, node, peer, out, back))
        val kind = if (node.switchInfo?.enhancedPort0 == true) "enhanced" else "base"
        val own = "${SubnetJson.guid(node.guid.value)} $port (\"${session.names.of(node)}\" $kind)"
        val other =
            peer?.let { "${SubnetJson.guid(it.node.guid.value)} ${it.number} (${session.names.of(it.node)})" } ?: "  ()"
        line("$own  ==>>  $other\n${RoutedHosts.text(out)}\n")
        line("$own  <<==  $other\n${RoutedHosts.text(back)}")
    }

    private fun ambiguous(named: List<SubnetNode>): Exception {
        val guids = named.take(MOST_SHOWN).joinToString { SubnetJson.guid(it.guid.value) }
        val more = if (named.size > MOST_SHOWN) " and ${named.size - MOST_SHOWN} more" else ""
        val text = "${named.size} switches have the name ${printable(switch)}: give the GUID of one, of $guids$more"
        return DiagnosticException(text)
    }

    /** The names of the hosts to which a switch sends by a port; none of an adapter, which has no tables. */
    private suspend fun hosts(
        session: Session,
        subnet: Subnet,
        order: DiscoveryOrder,
        node: SubnetNode,
        port: Int,
    ): List<String> {
        val found = SwitchOf.found(session, node, order.path(node)) ?: return emptyList()
        return UnicastTable(session, found, isAll = false, isBrief = false, Destinations(subnet, session.names))
            .rows(0, 0)
            .filter { it.port == port && it.destination?.type == HOST && it.destination.firstLid == it.lid }
            .mapNotNull { it.destination?.name }
    }

    private fun json(
        session: Session,
        node: SubnetNode,
        peer: SubnetPort?,
        out: List<String>,
        back: List<String>,
    ) = buildJsonObject {
        with(SubnetJson(session.names)) {
            putJsonObject("switch") { head(node) }
            put("port", port)
            peer?.let { putJsonObject("peer") { end(it) } }
        }
        putJsonArray("out") { out.forEach { add(JsonPrimitive(it)) } }
        putJsonArray("back") { back.forEach { add(JsonPrimitive(it)) } }
    }

    private companion object {
        private const val NOT_FOUND = 1
        private const val MOST_SHOWN = 10
        private const val HOST = "Channel Adapter"
    }
}
