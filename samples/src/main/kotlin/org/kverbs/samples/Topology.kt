package org.kverbs.samples

import kotlinx.coroutines.runBlocking
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.SubnetLink
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.management.subnet.discover

/**
 * Returns the subnet as a graph, from which Graphviz draws a picture: `dot -Tsvg`. Switches are boxes. A link that
 * could be faster or wider is red.
 */
fun Subnet.toDot(): String =
    buildString {
        appendLine("graph subnet {")
        for (node in nodes) appendLine("  ${id(node)} [${shape(node)}, label=\"${quoted(node.name)}\"];")
        for (link in links) appendLine("  ${id(link.a.node)} -- ${id(link.b.node)} [${ends(link)}, ${rate(link)}];")
        appendLine("}")
    }

private fun id(node: SubnetNode) = "\"${node.guid}\""

private fun shape(node: SubnetNode) = "shape=${if (node.isSwitch) "box" else "ellipse"}"

private fun ends(link: SubnetLink) = "taillabel=${link.a.number}, headlabel=${link.b.number}"

private fun rate(link: SubnetLink): String {
    val colour = if (link.isSlowerThanPossible || link.isNarrowerThanPossible) "red" else "black"
    return "label=\"${link.rate}\", color=$colour"
}

/** The nodes choose their names. No name may end the text in which it stands. */
private fun quoted(name: String) = name.replace("\\", "\\\\").replace("\"", "\\\"")

/** Prints the graph of the fabric behind the port that the argument names, or of a simulated one. */
fun main(args: Array<String>) = runBlocking { onFabric(args.firstOrNull()) { print(it.discover().toDot()) } }
