package org.kverbs.management.simulation

import kotlinx.coroutines.CoroutineScope
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.fabric.FabricBuilder
import org.kverbs.management.structures.PortCountersExtended
import org.kverbs.management.structures.TrapNumber
import org.kverbs.management.transport.MadTransport
import org.kverbs.structures.Guid
import org.kverbs.structures.Lid
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureType
import java.util.concurrent.CopyOnWriteArrayList

/**
 * An InfiniBand fabric in this process: switches, hosts and routers whose agents answer management datagrams. Programs
 * that run on hardware run on it unchanged, on any machine, in virtual time if the test wants it.
 *
 * ```
 * val simulation = simulatedFabric { fatTree(4) }
 * simulation.fabric("H-1").use { fabric -> println(fabric.get<NodeInfo>(directed(0, 1))) }
 * ```
 *
 * Threads: all functions can be called from any thread.
 *
 * Programs make one with [simulatedFabric].
 */
public class SimulatedFabric internal constructor(
    builder: SimulatedFabricBuilder,
) : AutoCloseable {
    private val topology = builder.topology
    private val scope = builder.scope
    private val servers = CopyOnWriteArrayList<IbsimServer>()
    private val faults = builder.faults
    private val wires = FaultyWires(faults, builder.seed)
    private val network = Network(topology)
    private val manager = builder.manager?.let(::manager)
    private val exchange =
        Exchange(
            network,
            Timeline(builder.scope),
            wires,
            Services(builder.agents),
            manager,
            builder.reportsLoss,
        )

    private val administrator = manager?.let { administrator(it, scope) }

    private fun administrator(
        manager: SubnetManager,
        scope: CoroutineScope,
    ): Administrator {
        val answers = Administration(exchange, exchange.agent, network, manager)
        val port = exchange.join(manager.port, Mads.ADMINISTRATION)
        return Administrator(port, scope.coroutineContext, answers).also { exchange.reporter = it::report }
    }

    private fun manager(spec: SimulatedFabricBuilder.ManagerSpec): SubnetManager {
        val name = spec.node ?: hosts.firstOrNull() ?: switches.firstOrNull()
        requireNotNull(name) { "a fabric without nodes has no place for a subnet manager" }
        return SubnetManager(network, firstPort(nodeOf(name)), spec.priority).also { it.sweep() }
    }

    /** The names of all hosts, in the order in which they were added. */
    public val hosts: List<String> get() = names(Kind.HOST)

    /** The names of all switches. */
    public val switches: List<String> get() = names(Kind.SWITCH)

    /** The names of all routers. */
    public val routers: List<String> get() = names(Kind.ROUTER)

    private fun names(kind: Int) =
        (0 until topology.size).map(topology::node).filter { it.kind == kind }.map(NodeSpec::id)

    /**
     * Attaches a program to a port. Any number of programs can be attached to one. Closing the transport detaches it.
     *
     * @param node the name of the node, or its description
     * @param number the port; without it the first one that has a link, of a switch port 0
     */
    public fun port(
        node: String,
        number: Int? = null,
    ): MadTransport = exchange.join(if (number == null) firstPort(nodeOf(node)) else portOf(node, number))

    private fun firstPort(node: Int): Int {
        if (topology.isSwitch(node)) return topology.port(node, 0)
        val ports = (1..topology.node(node).ports).map { topology.port(node, it) }
        return ports.firstOrNull(::isLinked) ?: ports.first()
    }

    private fun isLinked(port: Int) = topology.peer(port) != Topology.NONE

    /** Attaches a program to a port, and returns the fabric as that program sees it. Closing it ends that. */
    public fun fabric(
        node: String,
        number: Int? = null,
        configure: FabricBuilder.() -> Unit = {},
    ): Fabric = org.kverbs.management.fabric.fabric(port(node, number), configure)

    /**
     * Serves the fabric to programs of this machine that speak ibsim's protocol, such as ibnetdiscover, opensm and
     * `ibtool`. A fabric can have several servers. They end with it.
     *
     * @param port the UDP port of the server, or 0 for any that is free
     * @throws IllegalStateException if the port is not free
     */
    public fun serveIbsim(port: Int = 0): IbsimServer {
        val server =
            IbsimServer(exchange, scope.coroutineContext, port) { name ->
                if (name.isEmpty()) firstPort(0) else topology.find(name)?.let(::firstPort)
            }
        servers += server
        return server.start()
    }

    /** Changes what goes wrong on the wires. */
    public fun faults(configure: FabricFaults.() -> Unit) {
        faults.configure()
    }

    /** Switches a node off: its links go down, and what was set at it is forgotten. */
    public fun powerOff(node: String): Unit = change { it.setDead(nodeOf(node), true) }

    /** Switches a node on again, with the defaults of its ports. */
    public fun powerOn(node: String): Unit = change { it.setDead(nodeOf(node), false) }

    /** Makes the agents of a node answer nothing. Its links stay up, and a switch passes on what goes through. */
    public fun mute(node: String): Unit = wires.setMute(nodeOf(node), true)

    /** Ends [mute]. */
    public fun unmute(node: String): Unit = wires.setMute(nodeOf(node), false)

    /** Pulls the cable of a port: the link goes down at both ends. */
    public fun unplug(
        node: String,
        number: Int,
    ): Unit = change { it.setCut(cable(node, number), true) }

    /** Plugs the cable of a port in again: both ends are in the state Initialize then. */
    public fun plug(
        node: String,
        number: Int,
    ): Unit = change { it.setCut(cable(node, number), false) }

    private fun cable(
        node: String,
        number: Int,
    ): Int {
        val port = portOf(node, number)
        require(isLinked(port)) { "$node[$number] has no cable" }
        return port
    }

    /**
     * Has a port send a trap to its subnet manager, as if what it tells had happened there. Subscribers get a report.
     *
     * ```
     * simulation.trap("S-1", 3, TrapNumber.LINK_INTEGRITY_THRESHOLD)
     * simulation.trap("H-1", 1, TrapNumber.BAD_PKEY, NoticeTrap257 { key = 0x8001; lidAddr1 = Lid(7) })
     * ```
     *
     * @param details what the notice tells. Without them they are those of the port, of the traps 128 to 145.
     * @throws IllegalArgumentException if the details are too long or of another trap, or the trap needs some and has none
     * @throws IllegalStateException if the port has no subnet manager, or no way to it
     */
    public fun trap(
        node: String,
        number: Int,
        trap: TrapNumber,
        details: Structure? = null,
    ): Unit = exchange.raise(portOf(node, number), trap, details)

    /**
     * Has the subnet manager look at the fabric anew. It configures what was plugged in, and routes around what is
     * gone. Subscribers get a report of each port that came (64) or went (65).
     *
     * @throws IllegalStateException if the fabric has no subnet manager, or more ports than there are LIDs
     */
    public fun sweep() {
        val manager = checkNotNull(manager) { "the fabric has no subnet manager; give it one with subnetManager()" }
        change {
            val before = manager.subnet.ports()
            manager.sweep()
            administrator?.changed(before, manager.subnet.ports())
        }
        administrator?.tell()
    }

    /** Gives a node another GUID, such as one that another node has. */
    public fun setGuid(
        node: String,
        guid: Guid,
    ): Unit = change { it.setNodeGuid(nodeOf(node), guid.value) }

    /** Gives a port a LID without asking a subnet manager, such as one that another port has. */
    public fun setLid(
        node: String,
        number: Int,
        lid: Lid,
    ): Unit = change { it.setLid(it.endPort(portOf(node, number)), lid.value) }

    /**
     * The counters of a port. It is a view: what a test writes to it is what the port answers, in PortCounters, too, as
     * far as they go.
     */
    public fun counters(
        node: String,
        number: Int,
    ): PortCountersExtended = exchange.ask { Counters.view(it.counters.image(portOf(node, number))) }

    /** Other counters of a port, such as `PortRcvErrorDetails`. It is a view, as that of [counters]. */
    public fun <S : Structure> counters(
        node: String,
        number: Int,
        type: StructureType<S>,
    ): S = exchange.ask { type.at(exchange.performance.image(type, portOf(node, number))) }

    /** The ports at which programs are attached now, such as `H-1[1]`, each as often as it has programs. */
    public val attached: List<String>
        get() {
            // The servers let programs go that have ended without a word.
            servers.forEach { it.attached }
            return exchange.attached()
        }

    /** The fabric as a net file, which ibsim and [SimulatedFabricBuilder.netFile] read. */
    public fun netFile(): String = exchange.ask(NetFileWriter::write)

    private fun change(action: (Network) -> Unit) {
        exchange.ask(action)
        exchange.raise()
    }

    private fun nodeOf(name: String) = SimulatedFabricBuilder.nodeOf(topology, name)

    private fun portOf(
        node: String,
        number: Int,
    ) = SimulatedFabricBuilder.portOf(topology, node, number)

    /** Closes the transports of all programs. What is on the wires is lost. */
    override fun close() {
        servers.forEach { it.close() }
        administrator?.close()
        exchange.close()
    }

    /** Returns the number of switches, hosts and routers. */
    override fun toString(): String =
        "simulated fabric of ${switches.size} switches, ${hosts.size} hosts and ${routers.size} routers"
}

/**
 * Runs a test on the fabric, and closes the fabric then.
 *
 * ```
 * simulatedFabric { fatTree(4) }.test { simulation -> ... }
 * ```
 *
 * @throws IllegalStateException if the test has left programs attached to the fabric: transports that it did not close
 */
public inline fun <T> SimulatedFabric.test(body: (SimulatedFabric) -> T): T =
    use {
        val result = body(it)
        check(it.attached.isEmpty()) { "the test has not closed its transports at ${it.attached.joinToString()}" }
        result
    }

/** Makes a fabric in this process. The defaults are those that [SimulatedFabricBuilder] names. */
public fun simulatedFabric(configure: SimulatedFabricBuilder.() -> Unit): SimulatedFabric =
    SimulatedFabric(SimulatedFabricBuilder().apply(configure))
