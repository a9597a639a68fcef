package org.kverbs.management.subnet

import kotlin.random.Random

private const val DOWN = 18
private const val SPINE_PORTS = 36

/** Options of ibsim for fabrics of thousands of hosts. */
internal val bigFabric = arrayOf("-N", "65536", "-S", "4096", "-P", "400000", "-L", "49152")

/** A fabric to be: nodes with links, which prints as a net file. */
internal class Net {
    private class Node(
        val kind: String,
        val ports: Int,
        val id: String,
        val name: String,
    ) {
        val links = sortedMapOf<Int, Pair<Node, Int>>()
    }

    private val nodes = mutableListOf<Node>()

    fun switch(ports: Int): Int = add("Switch", ports, "S")

    fun host(ports: Int = 1): Int = add("Ca", ports, "H")

    private fun add(
        kind: String,
        ports: Int,
        letter: String,
    ): Int {
        val number = nodes.size
        val guid = (0x2_c902_0000_0000 + number * 0x100L).toString(16).padStart(16, '0')
        nodes += Node(kind, ports, "$letter-$guid", "${kind.lowercase()} $number")
        return number
    }

    fun link(
        a: Int,
        aPort: Int,
        b: Int,
        bPort: Int,
    ) {
        nodes[a].links[aPort] = nodes[b] to bPort
        nodes[b].links[bPort] = nodes[a] to aPort
    }

    /** A port without a link, or null. */
    fun free(node: Int): Int? = (1..nodes[node].ports).firstOrNull { it !in nodes[node].links }

    val size: Int get() = nodes.size
    val links: Int get() = nodes.sumOf { it.links.size } / 2

    /** The id of the first host. */
    val firstHost: String get() = nodes.first { it.kind == "Ca" }.id

    override fun toString() =
        nodes.joinToString("\n") { node ->
            val guid = node.id.substringAfter('-').trimStart('0')
            val kind = if (node.kind == "Switch") "switchguid" else "caguid"
            val end = if (node.kind == "Switch") " base port 0 lid 0 lmc 0" else ""
            val links =
                node.links.entries.joinToString("") { (port, far) ->
                    "[$port] \"${far.first.id}\"[${far.second}] # lid 0 lmc 0 4xQDR\n"
                }
            "vendid=0x2c9\ndevid=0xb924\nsysimgguid=0x$guid\n$kind=0x$guid\n" +
                "${node.kind} ${node.ports} \"${node.id}\" # \"${node.name}\"$end\n$links"
        }
}

/** Hosts below leaf switches with as many links up to spine switches as down to hosts. */
internal fun twoLevels(hosts: Int): Net {
    val net = Net()
    val leaves = List((hosts + DOWN - 1) / DOWN) { net.switch(2 * DOWN) }
    val spines = List((leaves.size + 1) / 2) { net.switch(SPINE_PORTS) }
    repeat(hosts) { net.link(net.host(), 1, leaves[it / DOWN], it % DOWN + 1) }
    for ((number, leaf) in leaves.withIndex()) {
        for (up in 0 until DOWN) {
            val wire = number * DOWN + up
            net.link(leaf, DOWN + 1 + up, spines[wire % spines.size], wire / spines.size + 1)
        }
    }
    return net
}

/** A connected fabric of chance: switches of any size with several links between two, hosts with one or two ports. */
internal fun randomNet(seed: Int): Net {
    val random = Random(seed)
    val net = Net()
    val switches = List(random.nextInt(2, 12)) { net.switch(random.nextInt(4, 30)) }

    fun connect(
        a: Int,
        b: Int,
    ) {
        val aPort = net.free(a) ?: return
        val bPort = net.free(b) ?: return
        if (a != b) net.link(a, aPort, b, bPort)
    }
    for (index in 1 until switches.size) connect(switches[index], switches[index - 1])
    repeat(random.nextInt(2 * switches.size)) { connect(switches.random(random), switches.random(random)) }
    connect(net.host(), switches.first { net.free(it) != null })
    repeat(random.nextInt(20)) {
        val host = net.host(random.nextInt(1, 3))
        connect(host, switches.random(random))
        if (random.nextBoolean()) connect(host, switches.random(random))
    }
    return net
}
