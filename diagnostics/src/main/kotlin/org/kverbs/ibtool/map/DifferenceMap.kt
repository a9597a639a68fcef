package org.kverbs.ibtool.map

import org.kverbs.ibtool.fabric.SubnetJson
import org.kverbs.ibtool.session.NodeNames
import org.kverbs.management.check.NameDiff
import org.kverbs.management.structures.NodeType
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.SubnetLink
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.management.subnet.SubnetPort

/**
 * Draws a planned topology as SVG, with what is different in the fabric. The text of a node can hold anything.
 *
 * @param difference what comparing the fabric with [planned] by names has found
 */
internal class DifferenceMap(
    planned: Subnet,
    private val names: NodeNames,
    private val difference: NameDiff,
) {
    /** What comparisons by names take for the same node. */
    private data class Key(
        val type: NodeType,
        val name: String,
    )

    private class Place(
        val x: Int,
        val y: Int,
    )

    private val map = FabricMap(planned, names, FabricMap.Wishes(hasHosts = true))
    private val places = HashMap<Key, Place>()
    private val missingNodes = difference.missingNodes.map(::key).toSet()
    private val missing = difference.missingLinks.map(::end).toSet()
    private val changed = difference.changedLinks.map { end(it.before) }.toSet()
    private val svg = StringBuilder()
    private var bottom = (map.nodes.maxOfOrNull { it.y } ?: 0) + LINE

    init {
        for (node in map.nodes) places.putIfAbsent(key(node.node), Place(node.x, node.y))
        for (line in difference.unexpectedNodes.chunked(IN_LINE)) {
            line.forEachIndexed { at, node -> places.putIfAbsent(key(node), Place(LEFT + at * STEP, bottom)) }
            bottom += LINE
        }
    }

    fun draw(): String {
        val width = maxOf(LEGEND, (places.values.maxOfOrNull { it.x } ?: 0) + STEP)
        SvgText.open(svg, width, bottom + LINE)
        for (link in map.links.flatMap { it.links }) planned(link)
        for (link in difference.unexpectedLinks) line(link, UNEXPECTED, "not planned")
        for (node in map.nodes.map { it.node }) {
            val isMissing = key(node) in missingNodes
            node(node, if (isMissing) MISSING else KNOWN, if (isMissing) "missing" else "as planned")
        }
        for (node in difference.unexpectedNodes) node(node, UNEXPECTED, "not planned")
        legend()
        return "${svg.append("</svg>\n")}"
    }

    private fun planned(link: SubnetLink) =
        when (end(link)) {
            in missing -> line(link, MISSING, "missing")
            in changed -> line(link, CHANGED, "at another rate")
            else -> line(link, KNOWN, "as planned")
        }

    private fun line(
        link: SubnetLink,
        color: String,
        what: String,
    ) {
        val a = places[key(link.a.node)] ?: return
        val b = places[key(link.b.node)] ?: return
        val dash = if (color == MISSING) " stroke-dasharray=\"6 4\"" else ""
        val width = if (color == KNOWN) 1 else 3
        // In one line: an arc above the nodes between.
        val way = if (a.y == b.y) "Q${(a.x + b.x) / 2} ${a.y - ARC}" else "L${b.x} ${b.y} L"
        svg.append("<path d=\"M${a.x} ${a.y} $way ${b.x} ${b.y}\" fill=\"none\" stroke=\"$color\" ")
        svg.append("stroke-width=\"$width\"$dash><title>")
        svg.append(SvgText.escaped("${text(link.a)} - ${text(link.b)} ${link.rate ?: "rate unknown"}: $what"))
        svg.append("</title></path>\n")
    }

    private fun text(port: SubnetPort) = "${names.of(port.node)} port ${port.number}"

    private fun node(
        node: SubnetNode,
        color: String,
        what: String,
    ) {
        val place = places[key(node)] ?: return
        val name = names.of(node)
        svg.append("<g><title>${SvgText.escaped("$name\n${SubnetJson.type(node)}: $what")}</title>")
        svg.append("<rect x=\"${place.x - WIDTH / 2}\" y=\"${place.y - HEIGHT / 2}\" width=\"$WIDTH\" ")
        svg.append("height=\"$HEIGHT\" rx=\"4\" fill=\"white\" stroke=\"$color\" ")
        svg.append("stroke-width=\"${if (color == KNOWN) 1 else 3}\"/>")
        val shown = if (name.length > LETTERS) name.take(LETTERS - 2) + ".." else name
        SvgText.text(svg, place.x, place.y + BASELINE, SvgText.escaped(shown), "middle")
        svg.append("</g>\n")
    }

    private fun legend() {
        val kinds = listOf(KNOWN to "as planned", MISSING to "missing", UNEXPECTED to "not planned", CHANGED to "rate")
        kinds.forEachIndexed { at, (color, what) ->
            val x = LEFT + at * STEP
            svg.append("<path d=\"M${x - WIDTH / 2} $bottom h20\" stroke=\"$color\" stroke-width=\"4\"/>")
            SvgText.text(svg, x - WIDTH / 2 + 24, bottom + BASELINE, what)
        }
        svg.append('\n')
    }

    private fun key(node: SubnetNode) = Key(node.type, node.name)

    /** A link by one of its ends, as a node's port has one link. */
    private fun end(link: SubnetLink) = key(link.a.node) to link.a.number

    private companion object {
        private const val KNOWN = "#777777"
        private const val MISSING = "#e31a1c"
        private const val UNEXPECTED = "#1f78b4"
        private const val CHANGED = "#ff7f00"
        private const val LEFT = 60
        private const val STEP = 116
        private const val LINE = 60
        private const val IN_LINE = 40
        private const val LEGEND = 600
        private const val WIDTH = 76
        private const val HEIGHT = 26
        private const val LETTERS = 10
        private const val BASELINE = 4
        private const val ARC = 40
    }
}
