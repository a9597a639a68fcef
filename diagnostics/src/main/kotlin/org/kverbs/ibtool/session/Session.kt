package org.kverbs.ibtool.session

import org.kverbs.management.fabric.Fabric
import org.kverbs.management.fabric.FabricBuilder
import org.kverbs.management.fabric.fabric
import org.kverbs.management.port.EndPort
import org.kverbs.management.port.endPorts
import org.kverbs.management.simulation.SimulatedFabric
import org.kverbs.management.structures.PortState
import org.kverbs.management.transport.MadTransport
import org.kverbs.management.transport.UmadTransport

/** One run of a command: the fabric that it asks, which is opened when it is needed first. */
internal class Session(
    val options: CommonOptions,
    private val extra: FabricBuilder.() -> Unit = {},
    val warn: (String) -> Unit,
) : AutoCloseable {
    /** The simulated fabric of `--fabric`, or null. */
    val simulation: SimulatedFabric? = options.fabric?.let(Generated::fabric)

    private val opened = lazy { open() }

    /** The fabric behind the port that the options name. */
    val fabric: Fabric by opened

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
        fabric(transport.captured(options)) {
            options.timeout?.let { timeout(it) }
            options.retries?.let { retries(it) }
            options.outstanding?.let { outstanding(it) }
            if (options.mKey != 0L) mKey(options.mKey)
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
}
