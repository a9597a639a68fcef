package org.kverbs.management.simulation

import kotlinx.coroutines.runBlocking
import org.kverbs.management.subnet.discover

/** Discovers a fabric of so many hosts, with what heap the machine has: HeapSpec starts it with little. */
internal fun main(arguments: Array<String>) {
    val hosts = arguments.single().toInt()
    simulatedFabric { hosts(hosts) }.use { simulation ->
        val begin = System.nanoTime()
        val subnet =
            runBlocking {
                simulation.fabric("H-1") { outstanding(256) }.use { it.discover(MOST_NODES, MOST_PORTS) }
            }
        val millis = (System.nanoTime() - begin) / 1_000_000
        println("${subnet.nodes.size} of ${simulation.hosts.size + simulation.switches.size} nodes in $millis ms")
    }
}

private const val MOST_NODES = 100_000
private const val MOST_PORTS = 2_000_000
