package org.kverbs.samples

import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.fabric.fabric
import org.kverbs.management.port.endPort
import org.kverbs.management.simulation.SimulatedFabric
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.structures.LinkWidth

/**
 * Runs [body] on the fabric behind a port of this machine, such as `mlx5_0/1`, or without one on a simulated fabric of
 * four hosts.
 *
 * @param meanwhile what happens in the simulated fabric, until [body] has ended
 */
suspend fun onFabric(
    endPort: String?,
    meanwhile: suspend (SimulatedFabric) -> Unit = {},
    body: suspend (Fabric) -> Unit,
) {
    if (endPort != null) return endPort(endPort).fabric().use { body(it) }
    val simulated =
        simulatedFabric {
            width(LinkWidth.W12X) // All that the ports can do: no link is narrower than possible.
            fatTree(4, hosts = 4)
            subnetManager()
        }
    simulated.use { simulation ->
        coroutineScope {
            val happening = launch { meanwhile(simulation) }
            simulation.fabric("H-1").use { body(it) }
            happening.cancel()
        }
    }
}
