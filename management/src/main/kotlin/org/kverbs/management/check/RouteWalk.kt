package org.kverbs.management.check

import org.kverbs.management.subnet.NONE

/** Words of a set of port numbers. */
internal const val WORDS = 4

/** Follows the tables to each LID, from all switches with hosts at once: each switch is looked at once for a LID. */
internal class RouteWalk(
    private val graph: RouteGraph,
    private val maxUnreachable: Int,
) {
    /** How far the LID is from a switch in switches, or one of the constants. */
    private val distances = IntArray(graph.nodeCount)
    private val outs = IntArray(graph.nodeCount)
    private val visited = IntArray(graph.nodeCount)

    var pairs = 0L
        private set
    var unreachableCount = 0L
        private set
    var circleCount = 0L
        private set
    val unreachable = ArrayList<UnreachablePair>()
    val hopCounts = HashMap<Int, Long>()

    /** For each port between switches, the numbers of the ports by which the next switch hands its packets on. */
    val dependencies = arrayOfNulls<LongArray>(graph.portCount)

    fun run() {
        distances.fill(UNKNOWN)
        for (ends in graph.ends.values) for (end in ends) for (lid in graph.lids(end)) follow(end, lid)
    }

    private fun follow(
        end: Int,
        lid: Int,
    ) {
        var count = 0
        val home = graph.switchBehind(end)
        for ((switch, sources) in graph.ends) {
            count = walk(switch, end, lid, count)
            val senders = if (switch == home) sources.size - 1 else sources.size
            pairs += senders
            val distance = distances[switch]
            if (distance <= 0) {
                report(sources, end, lid, distance)
            } else if (senders > 0) {
                hopCounts.merge(distance, senders.toLong(), Long::plus)
            }
        }
        for (at in 0 until count) {
            val switch = visited[at]
            if (distances[switch] > 0) depend(switch)
        }
        for (at in 0 until count) distances[visited[at]] = UNKNOWN
    }

    /** Follows the way from a switch until a switch whose distance is known. Returns how many were visited so far. */
    private fun walk(
        from: Int,
        end: Int,
        lid: Int,
        count: Int,
    ): Int {
        var last = count
        var at = from
        while (distances[at] == UNKNOWN) {
            distances[at] = ON_THE_WAY
            visited[last++] = at
            val out = graph.out(at, lid)
            outs[at] = out
            val next = if (out == NONE) NONE else graph.switchBehind(out)
            if (next == NONE) {
                distances[at] = if (out != NONE && graph.peer(out) == end) 1 else BROKEN
                break
            }
            at = next
        }
        var distance = if (distances[at] == ON_THE_WAY) CIRCLE else distances[at]
        for (index in last - 1 downTo count) {
            val switch = visited[index]
            if (distances[switch] == ON_THE_WAY) {
                if (distance > 0) distance++
                distances[switch] = distance
            }
        }
        return last
    }

    private fun depend(switch: Int) {
        val next = graph.switchBehind(outs[switch])
        if (next == NONE || graph.switchBehind(outs[next]) == NONE) return
        val out = outs[switch]
        val set = dependencies[out] ?: LongArray(WORDS).also { dependencies[out] = it }
        val number = graph.number(outs[next])
        set[number / Long.SIZE_BITS] = set[number / Long.SIZE_BITS] or (1L shl number % Long.SIZE_BITS)
    }

    private fun report(
        sources: List<Int>,
        end: Int,
        lid: Int,
        distance: Int,
    ) {
        for (source in sources) {
            if (source == end) continue
            unreachableCount++
            if (distance == CIRCLE) circleCount++
            if (unreachable.size < maxUnreachable) unreachable += describe(source, end, lid, distance == CIRCLE)
        }
    }

    private fun describe(
        source: Int,
        end: Int,
        lid: Int,
        isCircle: Boolean,
    ): UnreachablePair {
        val from = graph.at(source)
        val route = graph.tables.route(from, graph.lid(lid))
        val text = route.text ?: "the LID leads to ${route.to}, which has it, too"
        return UnreachablePair(from, graph.at(end), graph.lid(lid), isCircle, text)
    }

    private companion object {
        private const val UNKNOWN = 0
        private const val ON_THE_WAY = -1
        private const val BROKEN = -2
        private const val CIRCLE = -3
    }
}
