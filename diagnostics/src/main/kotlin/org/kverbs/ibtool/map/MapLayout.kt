package org.kverbs.ibtool.map

/**
 * Places the nodes of a map in rows: the highest level at the top, hosts at the bottom. In a row each node stands near
 * the middle of its neighbours, and the nodes of a chassis stand side by side.
 */
internal class MapLayout(
    nodes: List<MapNode>,
) {
    private val rows = nodes.groupBy { it.level }.toSortedMap(reverseOrder()).values.map { it.toMutableList() }
    private val byNode = nodes.associateBy { it.node }
    private val neighbours =
        nodes.associateWith { node -> node.node.ports.mapNotNull { port -> port.peer?.node?.let { byNode[it] } } }
    private val places = HashMap<MapNode, Double>()

    /** Places the nodes, and returns them in the order of the rows. */
    fun place(): List<MapNode> {
        rows.forEach(::number)
        repeat(SWEEPS) {
            rows.forEach(::sort)
            rows.asReversed().forEach(::sort)
        }
        rows.forEach(::sort)
        var y = TOP
        val width = rows.maxOfOrNull { minOf(it.size, MOST) * step(it) } ?: 0
        for (row in rows) {
            val lines = row.chunked(perLine(row.size))
            for (line in lines) {
                val step = width / line.size
                line.forEachIndexed { at, node ->
                    node.x = LEFT + step / 2 + at * step
                    node.y = y
                }
                y += LINE
            }
            y += GAP
        }
        return rows.flatten()
    }

    private fun perLine(size: Int): Int {
        val lines = (size + MOST - 1) / MOST
        return (size + lines - 1) / lines
    }

    private fun step(row: List<MapNode>) = if (row.first().level == 0) HOST_STEP else SWITCH_STEP

    /** Gives each node of a row its place, between 0 and 1. */
    private fun number(row: List<MapNode>) {
        row.forEachIndexed { at, node -> places[node] = (at + HALF) / row.size }
    }

    private fun sort(row: MutableList<MapNode>) {
        val middles =
            row.associateWith { node ->
                val others = neighbours.getValue(node).filter { it.level != node.level }
                if (others.isEmpty()) places.getValue(node) else others.map { places.getValue(it) }.average()
            }
        // The whole chassis stands where its middle is.
        val ofChassis = row.filter { it.chassis != null }.groupBy { it.chassis }
        val means = ofChassis.mapValues { (_, of) -> of.map { middles.getValue(it) }.average() }
        row.sortWith(
            compareBy(
                { means[it.chassis] ?: middles.getValue(it) },
                { it.chassis ?: 0 },
                { middles.getValue(it) },
                { places.getValue(it) },
            ),
        )
        number(row)
    }

    private companion object {
        private const val SWEEPS = 4
        private const val HALF = 0.5

        /** How many nodes stand in a line at most. A row that has more gets several lines. */
        private const val MOST = 40
        private const val SWITCH_STEP = 116
        private const val HOST_STEP = 84
        private const val LEFT = 20

        /** Room for the arcs of links within the first row. */
        private const val TOP = 90
        private const val LINE = 60
        private const val GAP = 70
    }
}
