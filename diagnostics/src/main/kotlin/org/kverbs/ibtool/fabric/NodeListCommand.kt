package org.kverbs.ibtool.fabric

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.arguments.optional
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.addJsonObject
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonArray
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.printable
import org.kverbs.management.structures.NodeType
import java.nio.file.Path
import kotlin.io.path.readLines

/** `ibhosts`, `ibswitches`, `ibrouters` and `ibnodes`: the nodes of some kinds. */
internal class NodeListCommand(
    name: String,
    private val what: String,
    private val types: List<NodeType>,
) : DiscoveringCommand(name, "DGKLsev") {
    private val file by argument("topology-file", help = "What ibnetdiscover wrote, in place of the fabric")
        .convert { Path.of(it) }
        .optional()

    override fun help(context: Context) = "List the $what of the fabric."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool $commandName
          ibtool $commandName topology-file
          ibtool $commandName --fabric hosts:8
        """.trimIndent()

    override suspend fun execute(session: Session) {
        file?.let { return ofFile(it) }
        val subnet = subnet(session)
        val order = DiscoveryOrder(subnet)
        val nodes = types.flatMap(order::nodes)
        if (options.json) return print(SubnetJson(session.names).of(subnet, nodes))
        val text = TopologyText(session.names, false, null)
        nodes.forEach { node -> listed(text.detail(node, ""), node.type)?.let { line(it) } }
    }

    private fun ofFile(file: Path) {
        val lines = file.readLines(Charsets.ISO_8859_1)
        if (lines.none { pattern.matches(it) }) {
            val what = "has no nodes as ibnetdiscover prints them; a saved topology is for --load-cache"
            throw DiagnosticException("${printable("$file")} $what")
        }
        if (options.json) {
            print(json(lines))
        } else {
            for (type in types) lines.mapNotNull { listed(it, type) }.forEach { line(it) }
        }
    }

    /** The nodes with what their lines in a topology tell, under the names that they have in other commands. */
    private fun json(lines: List<String>): JsonObject {
        val nodes = lines.mapNotNull { pattern.matchEntire(it)?.destructured }
        return buildJsonObject {
            putJsonArray("nodes") {
                for (type in types) {
                    for ((_, ports, guid, text) in nodes.filter { (kind) -> kind == kinds[type] }) {
                        addJsonObject {
                            put("type", SubnetJson.type(type))
                            put("guid", "0x$guid")
                            put("name", text.substringAfter('"').substringBeforeLast('"'))
                            put("portCount", ports.toInt())
                        }
                    }
                }
            }
        }
    }

    /** The line of a node in a topology as a line of the list; null for other lines. */
    private fun listed(
        text: String,
        type: NodeType,
    ): String? {
        val match = pattern.matchEntire(text) ?: return null
        val (kind, ports, guid, name) = match.destructured
        if (kind != kinds[type]) return null
        return "$kind\t: 0x$guid ports $ports ${name.map { if (it in ' '..'~') it else ' ' }.joinToString("")}"
    }

    private companion object {
        private val pattern = Regex("(Ca|Switch|Rt)\\s+(\\d+)\\s+\"[SHR]-(\\p{XDigit}{16})\"[^#]*#\\s*(.*)")
        private val kinds = mapOf(NodeType.CA to "Ca", NodeType.SWITCH to "Switch", NodeType.ROUTER to "Rt")
    }
}
