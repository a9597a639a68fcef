package org.kverbs.benchmarks

import com.sun.management.ThreadMXBean
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.fabric.fabric
import org.kverbs.management.path.directed
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.transport.IbsimTransport
import java.lang.management.ManagementFactory
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlin.time.DurationUnit.SECONDS
import kotlin.time.TimeSource

private const val ROUNDS = 5

/** Bytes that all threads of the JVM have allocated. */
private val allocated: Long
    get() = (ManagementFactory.getThreadMXBean() as ThreadMXBean).totalThreadAllocatedBytes

/**
 * Asks the neighbour of this port for its NodeInfo again and again: `Asking PORT OUTSTANDING SECONDS`, with the port of
 * an ibsim, or 0 for a simulated fabric of this JVM. Prints the answers a second of the best round, and the bytes that
 * an answer allocates in the last one.
 */
fun main(arguments: Array<String>) {
    val (port, outstanding, time) = arguments.map { it.toInt() }
    if (port == 0) {
        simulatedFabric { hosts(2) }.use { simulated ->
            simulated.fabric(simulated.hosts.first()).use { report(it, outstanding, time.seconds) }
        }
    } else {
        fabric(IbsimTransport.connect(port = port)).use { report(it, outstanding, time.seconds) }
    }
}

private fun report(
    fabric: Fabric,
    outstanding: Int,
    time: Duration,
) {
    val rates = mutableListOf<Double>()
    var bytes = 0L
    repeat(ROUNDS) {
        val before = allocated
        val begin = TimeSource.Monotonic.markNow()
        val answers = runBlocking { ask(fabric, outstanding, time) }
        rates += answers / begin.elapsedNow().toDouble(SECONDS)
        bytes = (allocated - before) / answers
    }
    println("%.0f %d".format(rates.max(), bytes))
}

private suspend fun ask(
    fabric: Fabric,
    outstanding: Int,
    time: Duration,
): Long {
    val end = TimeSource.Monotonic.markNow() + time
    val answers = LongArray(outstanding)
    coroutineScope {
        for (asker in answers.indices) {
            launch {
                while (!end.hasPassedNow()) {
                    fabric.get<NodeInfo>(directed(0, 1))
                    answers[asker]++
                }
            }
        }
    }
    return answers.sum()
}
