package org.kverbs.ibtool.fabric

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.UsageError
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.optional
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.printable
import org.kverbs.management.structures.NodeType

/**
 * `ibprintca`, `ibprintswitch` and `ibprintrt`: what `ibnetdiscover` prints of one node.
 *
 * @param what the kind of node in words
 */
internal class PrintNodeCommand(
    name: String,
    private val what: String,
    private val type: NodeType,
) : DiscoveringCommand(name, "DGKLs") {
    private val lists by option("--list", "-l", help = "List the nodes of this kind, and print none").flag()

    @Suppress("unused") // Scripts give it.
    private val isAnew by option("-R", help = "Does nothing: each run without --load-cache looks at the fabric").flag()
    private val wanted by argument("node", help = "The GUID, name or description of the node").optional()

    override fun help(context: Context) = "Print one $what of the fabric with its links, as ibnetdiscover does."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool $commandName -l
          ibtool $commandName 0x0002c90200000020
          ibtool $commandName "${if (type == NodeType.SWITCH) "S-1" else "H-1"}" --fabric hosts:6
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val wanted = wanted
        if (wanted == null && !lists) throw UsageError("give the GUID or the name of a $what, or -l")
        val subnet = subnet(session)
        val all = DiscoveryOrder(subnet).nodes(type)
        val chosen = if (lists || wanted == null) all else NamedNodes(session.names).find(all, wanted)
        if (chosen.isEmpty() && !lists) {
            throw DiagnosticException("the fabric has no $what \"${printable(wanted.orEmpty())}\"; -l lists them")
        }
        if (options.json) return print(SubnetJson(session.names).of(subnet, chosen))
        val text = TopologyText(session.names, false, null)
        for (node in chosen) {
            if (lists) {
                line("${SubnetJson.guid(node.guid.value)} ports ${node.portCount} \"${session.names.of(node)}\"")
            } else {
                print(text.node(node).removePrefix("\n") + text.ports(node))
            }
        }
    }
}
