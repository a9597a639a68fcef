package org.kverbs.management.simulation

/** The kinds of nodes, as NodeInfo numbers them. */
internal object Kind {
    const val HOST = 1
    const val SWITCH = 2
    const val ROUTER = 3
}

/**
 * What a node is.
 *
 * @property systemGuid null for the node's own GUID
 */
internal class NodeSpec(
    val kind: Int,
    val id: String,
    val description: String,
    val ports: Int,
    val guid: Long,
    val systemGuid: Long? = null,
    val vendor: Int = 0,
    val device: Int = 0,
    val hasEnhancedPort: Boolean = false,
)

/**
 * Nodes, ports and cables in flat arrays: 65,000 hosts have half a million ports. A port is one number, its node's
 * first one and its number on the node. Each node has a port 0, which only a switch uses.
 */
internal class Topology {
    private val specs = ArrayList<NodeSpec>()
    private val byId = HashMap<String, Int>()
    private val byDescription = HashMap<String, Int>()
    private var firsts = IntArray(INITIAL)
    private var nodes = IntArray(INITIAL)
    private var peers = IntArray(INITIAL)
    private var rates = IntArray(INITIAL)
    private val guids = HashMap<Int, Long>()
    private val lids = HashMap<Int, Int>()

    /** How many nodes there are. */
    val size: Int get() = specs.size

    /** How many ports there are. */
    var ports = 0
        private set

    fun node(index: Int): NodeSpec = specs[index]

    /** The index of the node with this id, or with this description if only one has it; null without one. */
    fun find(name: String): Int? = byId[name] ?: byDescription[name]?.takeIf { it >= 0 }

    fun add(
        spec: NodeSpec,
        rate: LinkRate,
    ): Int {
        require(spec.ports in 1..MAX_PORTS) { "${spec.id} has ${spec.ports} ports; give 1 to $MAX_PORTS" }
        require(spec.id.isNotEmpty()) { "a node needs a name" }
        require(spec.id !in byId) { "there are two nodes \"${spec.id}\"" }
        require(ports + spec.ports + 1 <= MAX_ALL) { "a fabric has at most $MAX_ALL ports" }
        val index = specs.size
        specs += spec
        byId[spec.id] = index
        if (spec.description != spec.id) byDescription.merge(spec.description, index) { _, _ -> AMBIGUOUS }
        if (index == firsts.size) firsts = firsts.copyOf(2 * index)
        firsts[index] = ports
        val end = ports + spec.ports + 1
        grow(end)
        nodes.fill(index, ports, end)
        peers.fill(NONE, ports, end)
        rates.fill(rate.bits, ports, end)
        ports = end
        return index
    }

    private fun grow(size: Int) {
        if (size <= nodes.size) return
        val longer = maxOf(size, nodes.size + nodes.size / 2)
        nodes = nodes.copyOf(longer)
        peers = peers.copyOf(longer)
        rates = rates.copyOf(longer)
    }

    /** The port with this number on the node, or [NONE]. */
    fun port(
        node: Int,
        number: Int,
    ): Int = if (number in 0..specs[node].ports) firsts[node] + number else NONE

    fun nodeOf(port: Int): Int = nodes[port]

    fun specOf(port: Int): NodeSpec = specs[nodes[port]]

    fun numberOf(port: Int): Int = port - firsts[nodes[port]]

    fun isSwitch(node: Int): Boolean = specs[node].kind == Kind.SWITCH

    /** The port at the other end of the cable, or [NONE]. */
    fun peer(port: Int): Int = peers[port]

    fun rate(port: Int) = LinkRate(rates[port])

    fun setRate(
        port: Int,
        rate: LinkRate,
    ) {
        rates[port] = rate.bits
    }

    fun link(
        one: Int,
        other: Int,
    ) {
        for (port in listOf(one, other)) {
            require(numberOf(port) > 0) { "${name(port)} takes no cable" }
            require(peers[port] == NONE) { "${name(port)} has two cables" }
        }
        require(one != other) { "${name(one)} is linked with itself" }
        val rate = rate(one) with rate(other)
        require(rate.width != 0 && rate.speed != 0) {
            "${name(one)} and ${name(other)} have no width or no speed in common"
        }
        peers[one] = other
        peers[other] = one
    }

    /** The GUID of a port: the node's own for a switch; else the node's and the port's number, if none was given. */
    fun guid(
        port: Int,
        nodeGuid: Long,
    ): Long = if (isSwitch(nodes[port])) nodeGuid else guids[port] ?: (nodeGuid + numberOf(port))

    fun setGuid(
        port: Int,
        guid: Long,
    ) {
        guids[port] = guid
    }

    /** The LIDs and masks that a net file gives ports, as LID shl 8 or LMC. */
    val givenLids: Map<Int, Int> get() = lids

    fun setLid(
        port: Int,
        lid: Int,
        lmc: Int,
    ) {
        lids[port] = lid shl 8 or lmc
    }

    /** A port in messages: `S-1[3]`. */
    fun name(port: Int) = "${specOf(port).id}[${numberOf(port)}]"

    companion object {
        const val NONE = -1
        const val MAX_PORTS = 254
        private const val MAX_ALL = 1 shl 21
        private const val INITIAL = 64
        private const val AMBIGUOUS = -1
    }
}
