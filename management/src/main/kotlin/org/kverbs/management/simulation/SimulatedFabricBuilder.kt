package org.kverbs.management.simulation

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import org.kverbs.management.structures.LinkWidth
import org.kverbs.management.structures.ManagementClass
import org.kverbs.structures.Guid

/** Describes a [SimulatedFabric]: its nodes and links, and how it behaves. */
@Suppress("TooManyFunctions") // One function for each thing that a fabric has.
public class SimulatedFabricBuilder internal constructor() {
    internal val topology = Topology()
    internal val faults = FabricFaults()
    internal val agents = HashMap<Int, SimulatedAgent>()
    internal var scope: CoroutineScope = CoroutineScope(Dispatchers.Default)
        private set
    internal var seed = 1L
        private set
    internal var reportsLoss = true
        private set
    internal var manager: ManagerSpec? = null
        private set
    private var rate = LinkRate(3, 0, 0, 0).withSpeed(SimulatedSpeed.HDR)
    private val generators = Generators(topology) { rate }
    private var nextGuid = FIRST_GUID

    /**
     * Adds a switch.
     *
     * @param name how the fabric's functions and net files name it
     * @param ports the number of its external ports, 1 to 254
     * @param guid its GUID; without one it gets one that no other node has
     * @param description its NodeDescription; the name without one
     */
    public fun switch(
        name: String,
        ports: Int,
        guid: Guid? = null,
        description: String = name,
    ): Unit = node(Kind.SWITCH, name, ports, guid, description)

    /** Adds a host with a channel adapter. */
    public fun host(
        name: String,
        ports: Int = 1,
        guid: Guid? = null,
        description: String = name,
    ): Unit = node(Kind.HOST, name, ports, guid, description)

    /** Adds a router. */
    public fun router(
        name: String,
        ports: Int = 2,
        guid: Guid? = null,
        description: String = name,
    ): Unit = node(Kind.ROUTER, name, ports, guid, description)

    private fun node(
        kind: Int,
        name: String,
        ports: Int,
        guid: Guid?,
        description: String,
    ) {
        require(name.none { it == '"' || it == '#' || it == '@' || it.isISOControl() }) {
            "the name $name has a quotation mark, a #, an @ or a control character, which net files cannot have"
        }
        require(name.length <= LONGEST_NAME && description.none { it == '"' || it.isISOControl() }) {
            "$name has a name of more than $LONGEST_NAME characters, or a description with a quotation mark or a " +
                "control character"
        }
        topology.add(NodeSpec(kind, name, description, ports, guid?.value ?: nextGuid), rate)
        nextGuid += GUIDS
    }

    /**
     * Links two ports.
     *
     * @param width the widths that both ends have enabled; [width] without it
     * @param speed the highest speed of both ends; [speed] without it
     */
    public fun link(
        node: String,
        port: Int,
        other: String,
        otherPort: Int,
        width: LinkWidth? = null,
        speed: SimulatedSpeed? = null,
    ) {
        val ends = listOf(portOf(topology, node, port), portOf(topology, other, otherPort))
        for (end in ends) {
            if (width != null) topology.setRate(end, topology.rate(end).withWidth(checked(width)))
            if (speed != null) topology.setRate(end, topology.rate(end).withSpeed(speed))
        }
        topology.link(ends[0], ends[1])
    }

    /** The widths that the ports of nodes added from now on have enabled; 1X and 4X without this. */
    public fun width(width: LinkWidth) {
        rate = rate.withWidth(checked(width))
    }

    private fun checked(width: LinkWidth): Int {
        require(width.value in 1..ALL_WIDTHS) { "$width is no width of a link; give W1X to W12X, or several" }
        return width.value
    }

    /** The highest speed of the ports of nodes added from now on; [SimulatedSpeed.HDR] without this. */
    public fun speed(speed: SimulatedSpeed) {
        rate = rate.withSpeed(speed)
    }

    /**
     * Adds the nodes of a net file of ibsim, or of what ibnetdiscover prints. The text need not be trusted.
     *
     * @throws IllegalArgumentException if the text is none; the message names the line
     */
    public fun netFile(text: String): Unit = NetFileReader(topology).read(text)

    /**
     * Adds a fat tree with three levels of switches.
     *
     * @param k the number of ports of a switch, an even one
     * @param hosts the number of hosts, up to k * k * k / 4, which are all without this
     */
    public fun fatTree(
        k: Int,
        hosts: Int = k * k * k / 4,
    ) {
        require(k in 2..MAX_RADIX && k % 2 == 0) { "switches of $k ports make no fat tree; give 2, 4 to $MAX_RADIX" }
        require(hosts in 1..k * k * k / 4) { "a fat tree of $k has 1 to ${k * k * k / 4} hosts, not $hosts" }
        generators.fatTree(k, hosts)
    }

    /** Adds this number of hosts, in the smallest fat tree with room for them. */
    public fun hosts(count: Int) {
        require(count in 1..MAX_HOSTS) { "$count hosts are too few or too many; give 1 to $MAX_HOSTS" }
        fatTree(Generators.radixFor(count), count)
    }

    /**
     * Adds a torus: a grid of switches, each of which is linked with its neighbours in each dimension, the last with
     * the first.
     *
     * @param sizes the number of switches in each dimension, 2 or more: `torus(4, 4, 4)`
     * @param hosts the number of hosts at each switch
     */
    public fun torus(
        vararg sizes: Int,
        hosts: Int = 1,
    ) {
        require(sizes.isNotEmpty() && sizes.all { it >= 2 }) { "a torus has two or more switches in each dimension" }
        require(sizes.fold(1L) { all, size -> all * size } <= MAX_HOSTS) { "a torus has at most $MAX_HOSTS switches" }
        require(hosts >= 0) { "$hosts hosts at a switch are too few" }
        generators.torus(sizes.toList(), hosts)
    }

    /** Adds a dragonfly: groups of switches, all linked with all in a group, and each group with each other one. */
    public fun dragonfly(
        groups: Int,
        switches: Int,
        hosts: Int,
    ) {
        require(groups >= 2 && switches >= 1 && hosts >= 0) { "a dragonfly has at least two groups of a switch" }
        require(groups.toLong() * switches <= MAX_HOSTS) { "a dragonfly has at most $MAX_HOSTS switches" }
        generators.dragonfly(groups, switches, hosts)
    }

    /** What goes wrong from the start. */
    public fun faults(configure: FabricFaults.() -> Unit) {
        faults.configure()
    }

    /** Where the random faults begin; two fabrics with the same seed and the same requests have the same faults. */
    public fun seed(seed: Long) {
        this.seed = seed
    }

    /**
     * In which scope delays are waited out: `clock(backgroundScope)` within `runTest` makes them virtual. Without this
     * they are real. The scope's end ends what is on the wires.
     */
    public fun clock(scope: CoroutineScope) {
        this.scope = scope
    }

    /**
     * Tells senders nothing of datagrams that no port gets, as a real fabric. Without this they hear at once that a
     * path leads nowhere, as from ibsim, and no test waits for it. Datagrams that faults lose are lost in silence in
     * any case.
     */
    public fun silentLoss() {
        reportsLoss = false
    }

    /**
     * Runs a subnet manager and a subnet administrator at a node. The manager sweeps when the fabric is made: it gives
     * LIDs, routes by shortest paths, and brings all links to the state Active. Later changes wait for
     * [SimulatedFabric.sweep].
     *
     * @param node the name of a node; without it the first host, or the first switch of a fabric without hosts
     * @param priority 0 to 15, as SMInfo has it
     */
    public fun subnetManager(
        node: String? = null,
        priority: Int = 0,
    ) {
        require(priority in 0..15) { "the priority $priority is out of range; give 0 to 15" }
        manager = ManagerSpec(node, priority)
    }

    /** Where the subnet manager is, by the builder's wish. */
    internal class ManagerSpec(
        val node: String?,
        val priority: Int,
    )

    /** Has [agent] answer the requests of a management class at all nodes. */
    public fun agent(
        mgmtClass: ManagementClass,
        agent: SimulatedAgent,
    ) {
        require(mgmtClass.value !in OWN_CLASSES) { "the simulation answers $mgmtClass itself" }
        agents[mgmtClass.value] = agent
    }

    internal companion object {
        private const val FIRST_GUID = 0x0200_0000_3000_0000L
        private const val GUIDS = 256L
        private const val LONGEST_NAME = 64
        private const val MAX_RADIX = 64
        private const val MAX_HOSTS = MAX_RADIX * MAX_RADIX * MAX_RADIX / 4
        private const val ALL_WIDTHS = 31
        private val OWN_CLASSES = setOf(Mads.BY_LID, Mads.DIRECTED, Mads.PERFORMANCE)

        fun portOf(
            topology: Topology,
            node: String,
            number: Int,
        ): Int {
            val index = nodeOf(topology, node)
            val port = topology.port(index, number)
            require(port != Topology.NONE) { "$node has the ports 1 to ${topology.node(index).ports}, not $number" }
            return port
        }

        fun nodeOf(
            topology: Topology,
            node: String,
        ): Int =
            requireNotNull(topology.find(node)) {
                "no node has the name \"$node\"; there are " +
                    (0 until minOf(topology.size, 5)).joinToString { topology.node(it).id } + " and others"
            }
    }
}
