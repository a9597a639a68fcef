package org.kverbs.management.check

import org.kverbs.management.subnet.NONE

/** Compares the ports by which a switch could lead LIDs of hosts on a shortest way with those that it uses. */
internal class Balance(
    private val graph: RouteGraph,
    private val imbalance: Double,
) {
    /** The ports of [switch] with these numbers, which are equally near to some hosts. */
    private data class Group(
        val switch: Int,
        val ports: List<Int>,
    )

    /** How many LIDs of a group each of its ports carries. */
    private val groups = HashMap<Group, IntArray>()

    /** How many LIDs of hosts each port carries. */
    private val loads = IntArray(graph.portCount)
    private val distances = IntArray(graph.nodeCount)
    private val open = IntArray(graph.nodeCount)
    private val trunks = HashMap<Int, IntArray>()

    var detours = 0L
        private set
    var unbalanced: List<UnbalancedPorts> = emptyList()
        private set

    /** Whether the work ends within a minute or so: a fabric that lies can have more switches than that. */
    val isKnown: Boolean

    init {
        for (switch in graph.switches) {
            trunks[switch] = graph.ports(switch).filter { graph.switchBehind(it) != NONE }.toIntArray()
        }
        isKnown = trunks.values.sumOf { it.size.toLong() } * graph.ends.size <= MOST_STEPS
    }

    fun run() {
        if (!isKnown) return
        for ((switch, ends) in graph.ends) {
            measure(switch)
            val lids = ends.flatMap { graph.lids(it) }
            for (at in graph.switches) if (at != switch && distances[at] != FAR) count(at, lids)
        }
        unbalanced = groups.entries.mapNotNull { (group, counts) -> judge(group, counts) }.let(::worst)
    }

    private fun measure(from: Int) {
        distances.fill(FAR)
        distances[from] = 0
        open[0] = from
        var first = 0
        var last = 1
        while (first < last) {
            val at = open[first++]
            for (port in trunks.getValue(at)) {
                val next = graph.switchBehind(port)
                if (distances[next] != FAR) continue
                distances[next] = distances[at] + 1
                open[last++] = next
            }
        }
    }

    private fun count(
        at: Int,
        lids: List<Int>,
    ) {
        val near = trunks.getValue(at).filter { distances[graph.switchBehind(it)] == distances[at] - 1 }
        val counts = if (near.size < 2) null else groups.getOrPut(Group(at, near)) { IntArray(near.size) }
        for (lid in lids) {
            val out = graph.out(at, lid)
            if (out == NONE) continue
            loads[out]++
            val place = near.indexOf(out)
            if (place < 0) {
                detours++
            } else if (counts != null) {
                counts[place]++
            }
        }
    }

    private fun judge(
        group: Group,
        counts: IntArray,
    ): UnbalancedPorts? {
        val busy = group.ports.indices.filter { counts[it] > 0 }.maxByOrNull { loads[group.ports[it]] } ?: return null
        val port = group.ports[busy]
        val idle = group.ports.minBy { loads[it] }
        val isUneven = loads[port] - loads[idle] > SMALL && loads[port] > imbalance * loads[idle]
        return if (isUneven) {
            UnbalancedPorts(graph.at(port), loads[port], graph.at(idle), loads[idle], counts[busy])
        } else {
            null
        }
    }

    private fun worst(all: List<UnbalancedPorts>): List<UnbalancedPorts> =
        all
            .groupBy { it.busy.node }
            .values
            .map { of -> of.maxBy { it.busyLids - it.idleLids } }
            .sortedWith(compareBy({ it.busy.node.guid.value.toULong() }, { it.busy.number }))

    private companion object {
        private const val FAR = Int.MAX_VALUE
        private const val MOST_STEPS = 4_000_000_000L

        /** A difference of so few LIDs is no imbalance. */
        private const val SMALL = 2
    }
}
