package org.kverbs.ibtool.map

import org.kverbs.ibtool.fabric.SubnetJson
import org.kverbs.management.subnet.LaneSpeed

/** Draws a map as SVG. The text of a node can hold anything. */
internal class SvgMap(
    private val map: FabricMap,
) {
    private val svg = StringBuilder()
    private val right = (map.nodes.maxOfOrNull { it.x } ?: 0) + MARGIN
    private val bottom = (map.nodes.maxOfOrNull { it.y } ?: 0) + MARGIN

    fun draw(): String {
        val width = maxOf(right, LEGEND)
        val height = bottom + LEGEND_HEIGHT
        SvgText.open(svg, width, height)
        map.links.sortedBy { it.state }.forEach(::link)
        map.nodes.forEach(::node)
        legend()
        svg.append("</svg>\n")
        return "$svg"
    }

    private fun link(link: MapLink) {
        val (a, b) = link.a to link.b
        val color = MapColors.link(link)
        val width = 1.0 + minOf(link.links.size, THICKEST) * WIDTH
        val dash = if (link.state == MapLink.State.NOT_ACTIVE) " stroke-dasharray=\"5 4\"" else ""
        val path =
            if (a.y == b.y) {
                // In one line: an arc above the nodes between.
                val rise = minOf(MARGIN, ARC + kotlin.math.abs(a.x - b.x) / ARC)
                "M${a.x} ${a.y} Q${(a.x + b.x) / 2} ${a.y - 2 * rise} ${b.x} ${b.y}"
            } else {
                "M${a.x} ${a.y} L${b.x} ${b.y}"
            }
        svg.append("<path d=\"$path\" fill=\"none\" stroke=\"$color\" stroke-width=\"$width\"$dash>")
        svg.append("<title>")
        svg.append(
            link.links.take(TITLES).joinToString("\n") {
                val (from, to) = if (it.a.node == a.node) it.a to it.b else it.b to it.a
                escaped("${a.name} port ${from.number} - ${b.name} port ${to.number} ${it.rate ?: "rate unknown"}")
            },
        )
        svg.append("</title></path>\n")
    }

    private fun node(node: MapNode) {
        val width = if (node.level == 0) HOST_WIDTH else SWITCH_WIDTH
        val color = MapColors.node(node)
        svg.append("<g><title>")
        svg.append(escaped("${node.name}\n${SubnetJson.type(node.node)} ${SubnetJson.guid(node.node.guid.value)}"))
        node.chassis?.let { svg.append("\nchassis $it") }
        svg.append("</title><rect x=\"${node.x - width / 2}\" y=\"${node.y - HEIGHT / 2}\" width=\"$width\" ")
        svg.append("height=\"$HEIGHT\" rx=\"4\" fill=\"$color\" stroke=\"#333\"/>")
        val most = width / LETTER
        val name = if (node.name.length > most) node.name.take(most - 2) + ".." else node.name
        SvgText.text(svg, node.x, node.y + BASELINE, escaped(name), "middle")
        if (node.hiddenHosts > 0) SvgText.text(svg, node.x, node.y + HEIGHT, "${node.hiddenHosts} hosts", "middle")
        svg.append("</g>\n")
    }

    private fun legend() {
        val speeds = map.links.map { it.speed }.distinct().sortedWith(nullsFirst<LaneSpeed>())
        val lines = speeds.map { MapColors.speed(it) to (it?.name ?: "speed unknown") }
        val states =
            listOf(MapColors.BELOW_RATE to "below the enabled rate", MapColors.ERRORS to "errors")
        var x = LEFT
        for ((color, text) in lines + states) {
            svg.append("<path d=\"M$x $bottom h$SAMPLE\" stroke=\"$color\" stroke-width=\"4\"/>")
            SvgText.text(svg, x + SAMPLE + BASELINE, bottom + BASELINE, text)
            svg.append('\n')
            x += SAMPLE + LETTER * text.length + SPACE
        }
        svg.append("<path d=\"M$x $bottom h$SAMPLE\" stroke=\"#333\" stroke-dasharray=\"5 4\"/>")
        SvgText.text(svg, x + SAMPLE + BASELINE, bottom + BASELINE, "not active")
        if (map.nodes.any { it.chassis != null }) {
            SvgText.text(svg, LEFT, bottom + LINE, "A colour of nodes is a chassis. Its number is in the tooltip.")
        }
        svg.append('\n')
    }

    private fun escaped(text: String) = SvgText.escaped(text)

    private companion object {
        private const val MARGIN = 60
        private const val LEGEND = 700
        private const val LEGEND_HEIGHT = 40
        private const val ARC = 16
        private const val WIDTH = 0.6
        private const val THICKEST = 8
        private const val TITLES = 40
        private const val HOST_WIDTH = 76
        private const val SWITCH_WIDTH = 100
        private const val HEIGHT = 26
        private const val LETTER = 7
        private const val BASELINE = 4
        private const val LEFT = 20
        private const val SAMPLE = 24
        private const val SPACE = 24
        private const val LINE = 22
    }
}
