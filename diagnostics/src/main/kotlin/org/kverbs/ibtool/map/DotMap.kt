package org.kverbs.ibtool.map

import org.kverbs.ibtool.session.hex16

/** Writes a map in the language of Graphviz. The text of a node can hold anything. */
internal class DotMap(
    private val map: FabricMap,
) {
    private val dot = StringBuilder()

    fun write(): String {
        dot.append(
            "graph fabric {\n  ranksep=1.5;\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n",
        )
        for ((chassis, nodes) in map.nodes.groupBy { it.chassis }) {
            if (chassis == null) {
                nodes.forEach { node(it, "  ") }
                continue
            }
            dot.append("  subgraph cluster_$chassis {\n    label=\"chassis $chassis\";\n    style=dashed;\n")
            nodes.forEach { node(it, "    ") }
            dot.append("  }\n")
        }
        map.links.forEach(::link)
        dot.append("}\n")
        return "$dot"
    }

    private fun node(
        node: MapNode,
        indent: String,
    ) {
        val hosts = if (node.hiddenHosts > 0) "\\n${node.hiddenHosts} hosts" else ""
        dot.append(
            "$indent${id(node)} [label=\"${escaped(node.name)}$hosts\", fillcolor=\"${MapColors.node(node)}\"];\n",
        )
    }

    private fun link(link: MapLink) {
        // The end that is higher comes first, so that Graphviz puts it into a higher row.
        val (from, to) = if (link.a.level >= link.b.level) link.a to link.b else link.b to link.a
        val style = if (link.state == MapLink.State.NOT_ACTIVE) ", style=dashed" else ""
        val label = if (link.links.size > 1) ", label=\"${link.links.size}\"" else ""
        val tip = link.links.mapNotNull { it.rate?.toString() }.distinct().joinToString()
        dot.append("  ${id(from)} -- ${id(to)} [color=\"${MapColors.link(link)}\", tooltip=\"$tip\"$style$label];\n")
    }

    private fun id(node: MapNode) = "n${hex16(node.node.guid.value)}"

    private fun escaped(text: String) = text.replace("\\", "\\\\").replace("\"", "\\\"")
}
