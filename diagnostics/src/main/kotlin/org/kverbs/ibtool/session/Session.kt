package org.kverbs.ibtool.session

import org.kverbs.management.fabric.Fabric
import org.kverbs.management.fabric.FabricBuilder
import org.kverbs.management.fabric.fabric
import org.kverbs.management.path.MadPath
import org.kverbs.management.port.EndPort
import org.kverbs.management.port.endPorts
import org.kverbs.management.sa.RecordedAttributes
import org.kverbs.management.simulation.SimulatedFabric
import org.kverbs.management.structures.PortState
import org.kverbs.management.subnet.ForwardingTables
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.forwardingTables
import org.kverbs.management.transaction.MadEventKind
import org.kverbs.management.transport.MadTransport
import org.kverbs.management.transport.UmadTransport
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureType
import org.kverbs.structures.TakesGet
import org.kverbs.structures.structureTypeOf

/** One run of a command: the fabric that it asks, which is opened when it is needed first. */
internal class Session(
    val options: CommonOptions,
    private val extra: FabricBuilder.() -> Unit = {},
    val surroundings: Surroundings = Surroundings(),
    val warn: (String) -> Unit,
) : AutoCloseable {
    /** The simulated fabric of `--fabric`, or null. */
    val simulation: SimulatedFabric? = options.fabric?.let(Generated::fabric)

    private val opened = lazy { open() }

    /** The fabric behind the port that the options name. */
    val fabric: Fabric by opened

    /** What the subnet administrator knows of the nodes. */
    val records: RecordedAttributes by lazy { fabric.byRecords() }

    /**
     * Asks for an attribute of subnet management: the node, or with `--sa` the subnet administrator, if it has a record
     * of such attributes.
     */
    suspend inline fun <reified S> get(
        path: MadPath,
        modifier: Int = 0,
    ): S where S : Structure, S : TakesGet = get(structureTypeOf<S>(), path, modifier)

    suspend fun <S> get(
        type: StructureType<S>,
        path: MadPath,
        modifier: Int,
    ): S where S : Structure, S : TakesGet {
        if (!options.sa || !records.has(type)) return fabric.get(type, path, modifier)
        return try {
            records.get(type, path, modifier)
        } catch (e: IllegalArgumentException) {
            throw DiagnosticException("--sa: ${e.message}", cause = e)
        }
    }

    /** Asks the switches for their tables, or with `--sa` the subnet administrator. */
    suspend fun forwardingTables(
        subnet: Subnet,
        multicast: Boolean,
    ): ForwardingTables =
        if (options.sa) records.forwardingTables(subnet, multicast) else fabric.forwardingTables(subnet, multicast)

    /** Does [work], and shows how far it is if it lasts. */
    suspend fun <T> working(
        text: () -> String,
        work: suspend () -> T,
    ): T {
        val progress = surroundings.progress ?: return work()

        fun line() =
            fabric.counters.let { "${text()}; ${it[MadEventKind.COMPLETED]} answers, ${it.outstanding} open requests" }
        return progress.during(::line, work)
    }

    /** For a command that changes what it has found: after Ctrl-C it has found a part only, and changes nothing. */
    fun requireWhole() {
        if (surroundings.interrupt?.hasEnded == true) {
            throw DiagnosticException("interrupted, and nothing was changed", Interrupt.STATUS)
        }
    }

    /** What [failLater] keeps; null if nothing went wrong. */
    var failure: DiagnosticException? = null
        private set

    /** Keeps what went wrong beside the answer of the command, which is shown all the same. */
    fun failLater(e: DiagnosticException) {
        failure = failure ?: e
    }

    /** Throws what [failLater] kept. */
    fun throwLater() {
        failure?.let { throw it }
    }

    /** What `--watch` compares; null without it. */
    var growth: CounterGrowth? = null

    /** The names of nodes. */
    val names: NodeNames by lazy { NodeNames.read(options.nameMap, warn) }

    private fun open(): Fabric {
        val simulation = simulation ?: return fabric(UmadTransport.open(endPort()))
        val node = options.ca ?: simulation.hosts.firstOrNull() ?: simulation.switches.first()
        return try {
            fabric(simulation.port(node, options.port))
        } catch (e: IllegalArgumentException) {
            throw DiagnosticException("-C ${printable(node)}: ${e.message}", cause = e)
        }
    }

    private fun fabric(transport: MadTransport): Fabric =
        fabric(surroundings.between(transport).captured(options).managedAt(options.smPort)) {
            options.timeout?.let { timeout(it) }
            options.retries?.let { retries(it) }
            options.outstanding?.let { outstanding(it) }
            if (options.mKey != 0L) mKey(options.mKey)
            if (options.sa) saKey(TRUSTED)
            extra()
            trace(options, warn)
        }

    /** The port that the options name; without a name the first one that is active, as libibumad chooses. */
    fun endPort(): EndPort {
        IbsimPreload.prepare()
        val all = endPorts()
        if (all.isEmpty()) {
            throw DiagnosticException(
                "this machine has no InfiniBand device; try --fabric fat-tree:4, which simulates a fabric",
            )
        }
        val named =
            all.filter {
                (options.ca == null || it.device == options.ca) && (options.port == null || it.number == options.port)
            }
        return named.firstOrNull { it.state == PortState.ACTIVE }
            ?: named.firstOrNull { it.state == PortState.INIT || it.state == PortState.ARMED }
            ?: named.firstOrNull()
            ?: throw notFound(all)
    }

    private fun notFound(all: List<EndPort>): Exception {
        val asked = listOfNotNull(options.ca, options.port).joinToString("/")
        return DiagnosticException("can't open UMAD port ($asked); there are ${all.joinToString()}")
    }

    override fun close() {
        if (opened.isInitialized()) fabric.close()
        simulation?.close()
    }

    private companion object {
        /** opensm's key without another configuration; it shows some records to those alone that know it. */
        private const val TRUSTED = 1L
    }
}
