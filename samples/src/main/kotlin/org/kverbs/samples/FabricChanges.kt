package org.kverbs.samples

import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.conflate
import kotlinx.coroutines.flow.filter
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.runBlocking
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.simulation.SimulatedFabric
import org.kverbs.management.structures.TrapNumber
import org.kverbs.management.subnet.SubnetDiff
import org.kverbs.management.subnet.discover
import kotlin.time.Duration.Companion.milliseconds

/**
 * Waits for traps that tell of links, and emits what has changed since the last one. Traps that come during a discovery
 * lead to one discovery more.
 */
fun Fabric.changes(): Flow<SubnetDiff> =
    flow {
        var known = discover()
        informs().filter { it.trap == TrapNumber.LINK_STATE_CHANGED }.conflate().collect {
            val now = discover()
            val diff = known.changesTo(now)
            if (!diff.isEmpty) emit(diff)
            known = now
        }
    }

/** Pulls the cable of a host of the simulated fabric, and puts it back, again and again. */
private suspend fun pull(simulation: SimulatedFabric) {
    while (true) {
        delay(200.milliseconds)
        simulation.unplug("H-2", 1)
        delay(200.milliseconds)
        simulation.plug("H-2", 1)
    }
}

/** Prints the first change of the fabric behind the port that the argument names, or of a simulated one. */
fun main(args: Array<String>) = runBlocking { onFabric(args.firstOrNull(), ::pull) { println(it.changes().first()) } }
