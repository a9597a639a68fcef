package org.kverbs.samples

import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.runBlocking
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.path.lid
import org.kverbs.management.simulation.SimulatedFabric
import org.kverbs.management.structures.PortCountersExtended
import org.kverbs.management.subnet.SubnetPort
import org.kverbs.management.subnet.discover
import org.kverbs.management.transaction.MadException
import java.util.Locale
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.DurationUnit.SECONDS
import kotlin.time.TimeSource
import kotlin.time.TimeSource.Monotonic.ValueTimeMark

/** A port's counters at a moment. */
private class Reading(
    val time: ValueTimeMark,
    val counters: PortCountersExtended,
)

/**
 * Says how much a port carried since the last reading.
 *
 * @property received bytes a second
 * @property sent bytes a second
 */
data class PortRate(
    val port: SubnetPort,
    val received: Double,
    val sent: Double,
) {
    override fun toString(): String = "%s: %,.0f B/s in, %,.0f B/s out".format(Locale.ROOT, port, received, sent)
}

/**
 * Reads the counters of all linked ports each [interval], and emits their rates. A port that does not answer is left
 * out, until it answers twice again.
 */
fun Fabric.portRates(interval: Duration): Flow<List<PortRate>> =
    flow {
        val ports = discover().links.flatMap { it.ends }
        var before = readings(ports)
        while (true) {
            delay(interval)
            val now = readings(ports)
            emit(now.mapNotNull { (port, reading) -> before[port]?.let { rate(port, it, reading) } })
            before = now
        }
    }

/** Asks all ports at once. The fabric bounds how many requests are outstanding. */
private suspend fun Fabric.readings(ports: List<SubnetPort>): Map<SubnetPort, Reading> =
    coroutineScope {
        ports.map { port -> async { reading(port)?.let { port to it } } }.awaitAll().filterNotNull().toMap()
    }

private suspend fun Fabric.reading(port: SubnetPort): Reading? =
    try {
        val counters = get<PortCountersExtended>(lid(port.lid)) { portSelect = port.number }
        Reading(TimeSource.Monotonic.markNow(), counters)
    } catch (_: MadException) {
        null
    }

private fun rate(
    port: SubnetPort,
    before: Reading,
    now: Reading,
): PortRate {
    val seconds = (now.time - before.time).toDouble(SECONDS)
    // The counters count words of four bytes.
    return PortRate(
        port,
        4 * (now.counters.portRcvData - before.counters.portRcvData) / seconds,
        4 * (now.counters.portXmitData - before.counters.portXmitData) / seconds,
    )
}

/** Lets a host of the simulated fabric receive about a megabyte a second. */
private suspend fun carry(simulation: SimulatedFabric) {
    while (true) {
        simulation.counters("H-2", 1).portRcvData += 2_500
        delay(10.milliseconds)
    }
}

/** Prints the busiest ports of the fabric behind the port that the argument names, or of a simulated one. */
fun main(args: Array<String>) =
    runBlocking {
        onFabric(args.firstOrNull(), ::carry) { fabric ->
            val rates = fabric.portRates(200.milliseconds).first { all -> all.any { it.received > 0 } }
            rates.sortedByDescending { it.received }.take(3).forEach(::println)
        }
    }
