package org.kverbs.micrometer

import io.micrometer.core.instrument.MeterRegistry
import io.micrometer.core.instrument.Tag
import io.micrometer.core.instrument.Tags
import io.micrometer.core.instrument.binder.BaseUnits
import org.kverbs.Device
import org.kverbs.PortTraffic

/**
 * Publishes the counters of a device's ports, as counters: `kverbs.port.sent` and `.received` in bytes, `.sent.packets`,
 * `.received.packets`, `.errors`, `.discards` and `.congestion.marks` where the driver has them ([PortTraffic]), and
 * `kverbs.port.counter` with the tag `counter` for each counter of the driver ([Device.counters]). Each has the tags
 * `device` and `port`, and [tags].
 *
 * The device need not be open. All meters of a port share a reading that is at most half a second old, because a reading
 * opens a file for each counter.
 */
public class DeviceMetrics(
    private val device: Device,
    tags: Iterable<Tag> = emptyList(),
) : KverbsMetrics(Tags.of("device", device.name()).and(tags)) {
    private val ports =
        generateSequence(1) { it + 1 }
            .map { PortReadings(device, it) }
            .takeWhile { it.counters().isNotEmpty() }
            .toList()

    override fun bindTo(registry: MeterRegistry): Unit =
        with(registry) {
            for (port in ports) {
                val tag = Tags.of("port", "${port.number}")

                fun traffic(
                    name: String,
                    text: String,
                    unit: String?,
                    value: (PortTraffic) -> Long?,
                ) {
                    if (value(port.traffic()) == null) return
                    counter("kverbs.port.$name", KEPT, text, unit, tag) { value(port.traffic()) ?: Double.NaN }
                }
                traffic("sent", "Bytes sent", BaseUnits.BYTES) { it.sentBytes }
                traffic("received", "Bytes received", BaseUnits.BYTES) { it.receivedBytes }
                traffic("sent.packets", "Packets sent", PACKETS) { it.sentPackets }
                traffic("received.packets", "Packets received", PACKETS) { it.receivedPackets }
                traffic("errors", "Errors of all kinds", null) { it.errors }
                traffic("discards", "Packets and messages dropped", null) { it.discards }
                traffic("congestion.marks", "Marks and notifications of congestion", null) { it.congestionMarks }
                for (name in port.counters().keys) {
                    counter("kverbs.port.counter", KEPT, "A counter of the driver", more = tag.and("counter", name)) {
                        port.counters()[name]?.toULong()?.toDouble() ?: Double.NaN
                    }
                }
            }
        }

    private companion object {
        const val PACKETS = "packets"

        /** The registry refers to this weakly, and to the readings by the function: a device needs no owner. */
        val KEPT = Any()
    }
}
