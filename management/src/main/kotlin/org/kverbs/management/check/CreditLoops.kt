package org.kverbs.management.check

import org.kverbs.management.subnet.NONE
import org.kverbs.management.subnet.SubnetHop

/** Finds circles in the graph whose nodes are ports between switches, and whose edges are [dependencies]. */
internal class CreditLoops(
    private val graph: RouteGraph,
    private val dependencies: Array<LongArray?>,
) {
    private val colors = ByteArray(graph.portCount)
    private val cameFrom = IntArray(graph.portCount)
    private val loops = ArrayList<CreditLoop>()

    /** Each search ends at a circle, whose ports are left out from then on. */
    fun find(): List<CreditLoop> {
        for (port in 0 until graph.portCount) {
            while (colors[port] == WHITE && dependencies[port] != null && loops.size < MAX_LOOPS) {
                val on = search(port) ?: break
                val loop = shortest(on)
                loop.forEach { colors[it] = BLACK }
                loops += CreditLoop(loop.map { SubnetHop(graph.at(it), graph.at(graph.peer(it))) })
            }
        }
        return loops
    }

    /** Goes in depth from [start]. Returns a port that is on a circle, or null if no circle can be reached. */
    private fun search(start: Int): Int? {
        val way = ArrayDeque<Iterator<Int>>()
        val ports = ArrayDeque<Int>()

        fun enter(port: Int) {
            colors[port] = GREY
            ports.addLast(port)
            way.addLast(next(port).iterator())
        }
        enter(start)
        while (ports.isNotEmpty()) {
            val rest = way.last()
            if (!rest.hasNext()) {
                colors[ports.removeLast()] = BLACK
                way.removeLast()
                continue
            }
            val port = rest.next()
            if (colors[port] == GREY) {
                ports.forEach { colors[it] = WHITE }
                return port
            }
            if (colors[port] == WHITE) enter(port)
        }
        return null
    }

    /** The shortest circle through a port that is on one, of the ports that are left. */
    private fun shortest(port: Int): List<Int> {
        cameFrom.fill(NONE)
        val open = ArrayDeque(listOf(port))
        while (cameFrom[port] == NONE) {
            val at = open.removeFirst()
            for (next in next(at)) {
                if (colors[next] == BLACK || cameFrom[next] != NONE) continue
                cameFrom[next] = at
                open.addLast(next)
            }
        }
        val loop = ArrayDeque(listOf(port))
        while (cameFrom[loop.first()] != port) loop.addFirst(cameFrom[loop.first()])
        return loop
    }

    private fun next(port: Int): List<Int> {
        val set = dependencies[port] ?: return emptyList()
        val switch = graph.switchBehind(port)
        return (0 until WORDS * Long.SIZE_BITS)
            .filter { set[it / Long.SIZE_BITS] shr it % Long.SIZE_BITS and 1L != 0L }
            .map { graph.port(switch, it) }
    }

    private companion object {
        private const val WHITE: Byte = 0
        private const val GREY: Byte = 1
        private const val BLACK: Byte = 2
        private const val MAX_LOOPS = 64
    }
}
