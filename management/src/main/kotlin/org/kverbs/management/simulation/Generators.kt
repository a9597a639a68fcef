package org.kverbs.management.simulation

/** Fabrics of regular shape. Hosts are H-1 to H-n, switches S-1 to S-n, those with hosts first. */
internal class Generators(
    private val topology: Topology,
    private val rate: () -> LinkRate,
) {
    private var hosts = 0
    private var switches = 0

    fun host(name: String? = null): Int {
        val number = ++hosts
        val id = name ?: "H-$number"
        return topology.add(NodeSpec(Kind.HOST, id, id, 1, HOST_GUIDS + number * GUIDS_OF_HOST, device = HOST), rate())
    }

    fun switch(ports: Int): Int {
        val id = "S-${++switches}"
        return topology.add(NodeSpec(Kind.SWITCH, id, id, ports, SWITCH_GUIDS + switches, device = SWITCH), rate())
    }

    fun link(
        one: Int,
        port: Int,
        other: Int,
        otherPort: Int,
    ) = topology.link(topology.port(one, port), topology.port(other, otherPort))

    private fun hostAt(
        switch: Int,
        port: Int,
    ) = link(host(), 1, switch, port)

    /** Three levels of switches with [k] ports: pods of edges and aggregations, and a core. */
    fun fatTree(
        k: Int,
        wanted: Int,
    ) {
        val half = k / 2
        val edgesWanted = (wanted + half - 1) / half
        val pods = (edgesWanted + half - 1) / half
        val edges = List(edgesWanted) { switch(k) }
        val aggregations = List(pods) { List(half) { switch(k) } }
        var left = wanted
        edges.forEachIndexed { index, edge ->
            repeat(minOf(half, left)) { hostAt(edge, it + 1) }
            left -= half
            aggregations[index / half].forEachIndexed { up, above ->
                link(edge, half + up + 1, above, index % half + 1)
            }
        }
        if (pods == 1) return
        repeat(half) { group ->
            repeat(half) { index ->
                val core = switch(k)
                aggregations.forEachIndexed { pod, above -> link(above[group], half + index + 1, core, pod + 1) }
            }
        }
    }

    /** A switch with hosts at each place of a grid, whose rows are closed to rings. */
    fun torus(
        sizes: List<Int>,
        hostsAtEach: Int,
    ) {
        val count = sizes.fold(1, Int::times)
        val grid = List(count) { switch(hostsAtEach + 2 * sizes.size) }
        grid.forEach { switch -> repeat(hostsAtEach) { hostAt(switch, it + 1) } }
        var stride = 1
        sizes.forEachIndexed { dimension, size ->
            for (place in 0 until count) {
                val at = place / stride % size
                val next = if (at + 1 < size) place + stride else place - at * stride
                // Two in a row have one cable, not a ring.
                if (at + 1 == size && size == 2) continue
                link(grid[place], hostsAtEach + 2 * dimension + 1, grid[next], hostsAtEach + 2 * dimension + 2)
            }
            stride *= size
        }
    }

    /** Groups of switches that are all linked with each other; each pair of groups has a cable. */
    fun dragonfly(
        groups: Int,
        switchesInGroup: Int,
        hostsAtEach: Int,
    ) {
        val globals = (groups - 1 + switchesInGroup - 1) / switchesInGroup
        val ports = hostsAtEach + switchesInGroup - 1 + globals
        val all = List(groups) { List(switchesInGroup) { switch(ports) } }
        for (group in all) {
            group.forEach { switch -> repeat(hostsAtEach) { hostAt(switch, it + 1) } }
            for (one in group.indices) {
                for (other in one + 1 until group.size) {
                    link(group[one], hostsAtEach + other, group[other], hostsAtEach + one + 1)
                }
            }
        }
        val first = hostsAtEach + switchesInGroup
        for (one in all.indices) {
            for (other in one + 1 until groups) {
                // Of a group, cable n goes to the n-th of the other groups.
                val here = other - 1
                link(
                    all[one][here % switchesInGroup],
                    first + here / switchesInGroup,
                    all[other][one % switchesInGroup],
                    first + one / switchesInGroup,
                )
            }
        }
    }

    companion object {
        private const val HOST_GUIDS = 0x0200_0000_1000_0000L
        private const val SWITCH_GUIDS = 0x0200_0000_2000_0000L
        private const val GUIDS_OF_HOST = 16
        private const val HOST = 1
        private const val SWITCH = 2

        /** The smallest fat tree with room for so many hosts. */
        fun radixFor(hosts: Int): Int = generateSequence(2) { it + 2 }.first { it.toLong() * it * it / 4 >= hosts }
    }
}
