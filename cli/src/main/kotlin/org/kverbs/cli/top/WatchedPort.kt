package org.kverbs.cli.top

import org.kverbs.Device
import org.kverbs.PortTraffic
import kotlin.time.ComparableTimeMark
import kotlin.time.TimeSource

/** The traffic of a port, and when it was read. */
internal class PortReading(
    val traffic: PortTraffic,
    val mark: ComparableTimeMark,
)

/** A port that `kverbs top` watches, and the way to read its traffic. */
internal class WatchedPort(
    val device: String,
    val port: Int,
    private val clock: TimeSource.WithComparableMarks = TimeSource.Monotonic,
    private val traffic: () -> PortTraffic,
) {
    /** Reads the port. Each has a time of its own, as ports are read one after the other. */
    fun read(): PortReading = PortReading(traffic(), clock.markNow())

    companion object {
        /** The ports of a device with counters; its first port if none has any. It need not be opened for that. */
        fun of(device: Device): List<WatchedPort> {
            val counting = generateSequence(1) { it + 1 }.takeWhile { device.counters(it).isNotEmpty() }.toList()
            return counting.ifEmpty { listOf(1) }.map { port ->
                WatchedPort(device.name(), port) { PortTraffic.of(device.counters(port)) }
            }
        }
    }
}
