package org.kverbs.cli.top

import org.kverbs.Device
import org.kverbs.PortTraffic

/** A port that `kverbs top` watches, and the way to read its traffic. */
internal class WatchedPort(
    val device: String,
    val port: Int,
    val read: () -> PortTraffic,
) {
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
