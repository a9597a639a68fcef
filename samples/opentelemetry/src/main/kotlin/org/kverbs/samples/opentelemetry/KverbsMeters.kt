package org.kverbs.samples.opentelemetry

import io.opentelemetry.api.common.AttributeKey.stringKey
import io.opentelemetry.api.common.Attributes
import io.opentelemetry.api.metrics.Meter
import org.kverbs.Device
import org.kverbs.coroutines.RdmaServer

/**
 * Publishes the counters of a device's first port as `kverbs.port.counter`, one series for each counter. The SDK calls
 * back when it exports; close the result to end that.
 */
public fun Meter.observe(device: Device): AutoCloseable =
    counterBuilder("kverbs.port.counter").setDescription("A counter of the driver").buildWithCallback { measurement ->
        for ((name, value) in device.counters()) {
            measurement.record(value, Attributes.of(stringKey("device"), device.name(), stringKey("counter"), name))
        }
    }

/** Publishes the connections of a server as `kverbs.server.accepted` and `kverbs.server.connections`. */
public fun Meter.observe(server: RdmaServer): AutoCloseable {
    val accepted = counterBuilder("kverbs.server.accepted").buildWithCallback { it.record(server.stats.accepted) }
    val open =
        upDownCounterBuilder("kverbs.server.connections").buildWithCallback {
            it.record(server.stats.connections.toLong())
        }
    return AutoCloseable { accepted.use { open.close() } }
}
