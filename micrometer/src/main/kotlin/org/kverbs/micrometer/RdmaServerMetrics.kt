package org.kverbs.micrometer

import io.micrometer.core.instrument.MeterRegistry
import io.micrometer.core.instrument.Tag
import io.micrometer.core.instrument.Tags
import io.micrometer.core.instrument.binder.BaseUnits
import org.kverbs.coroutines.RdmaServer

/**
 * Publishes what a server of messages has done and holds: `kverbs.server.accepted`, `.rejected`, `.failed` (counters),
 * `.connections`, `.half.open` and `.memory` in bytes (gauges). Each has the tag `port`, the port that the server
 * listens at, and [tags].
 */
public class RdmaServerMetrics(
    private val server: RdmaServer,
    tags: Iterable<Tag> = emptyList(),
) : KverbsMetrics(Tags.of("port", "${server.address.port}").and(tags)) {
    override fun bindTo(registry: MeterRegistry): Unit =
        with(registry) {
            counter("kverbs.server.accepted", server, "Connections that were set up") { it.stats.accepted }
            counter("kverbs.server.rejected", server, "Clients that were not let in") { it.stats.rejected }
            counter("kverbs.server.failed", server, "Connections whose handler threw") { it.stats.failed }
            level("kverbs.server.connections", server, "Open connections") { it.stats.connections }
            level("kverbs.server.half.open", server, "Connections that are being set up") { it.stats.halfOpen }
            level(
                "kverbs.server.memory",
                server,
                "Memory that the connections hold",
                BaseUnits.BYTES,
            ) { it.stats.memory }
        }
}
