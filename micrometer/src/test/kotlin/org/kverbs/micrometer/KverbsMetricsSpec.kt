package org.kverbs.micrometer

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainAll
import io.kotest.matchers.doubles.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.micrometer.core.instrument.FunctionCounter
import io.micrometer.core.instrument.Gauge
import io.micrometer.core.instrument.MeterRegistry
import io.micrometer.core.instrument.Tags
import io.micrometer.core.instrument.simple.SimpleMeterRegistry
import kotlinx.coroutines.delay
import org.kverbs.coroutines.bind
import org.kverbs.coroutines.bufferPool
import org.kverbs.coroutines.connectMessages
import org.kverbs.dsl.KiB
import org.kverbs.testkit.connectedHosts

private fun MeterRegistry.counted(
    name: String,
    vararg tags: String,
): Double = get(name).tags(*tags).functionCounter().count()

private fun MeterRegistry.level(name: String): Double = get(name).gauge().value()

class KverbsMetricsSpec :
    FunSpec({
        timeout = 60_000

        test("should publish what a server, its channel, its device and its dispatcher have done") {
            val registry = SimpleMeterRegistry()
            connectedHosts { client, server ->
                val service = server.bind(serverAddress(7471))
                service.serve(backgroundScope) { for (message in it.incoming) it.send(message) }
                RdmaServerMetrics(service, Tags.of("service", "echo")).bindTo(registry)
                client.connectMessages(serverAddress(7471)).use { connection ->
                    val dispatcher = connection.node.dispatcher
                    val device = DeviceMetrics(connection.node.context.device()).also { it.bindTo(registry) }
                    val channel = MessageChannelMetrics(connection.channel, Tags.of("peer", "server"))
                    channel.bindTo(registry)
                    CompletionDispatcherMetrics(dispatcher).bindTo(registry)
                    repeat(10) {
                        connection.send(ByteArray(100))
                        connection.receive()
                    }
                    registry.counted("kverbs.server.accepted", "service", "echo") shouldBe 1.0
                    registry.level("kverbs.server.connections") shouldBe 1.0
                    registry.level("kverbs.server.memory") shouldBeGreaterThan 0.0
                    registry.counted("kverbs.channel.sent", "peer", "server") shouldBe 10.0
                    registry.level("kverbs.channel.messages.waiting") shouldBe 0.0
                    registry.counted("kverbs.dispatcher.completions") shouldBeGreaterThan 10.0
                    // A reading of a port is half a second old at most.
                    while (registry.counted("kverbs.port.sent", "port", "1") < 1000) delay(50)
                    registry.counted("kverbs.port.counter", "counter", "cm_tx_rej") shouldBe 0.0
                    registry.find("kverbs.port.received").functionCounter()?.id?.baseUnit shouldBe "bytes"
                    channel.close()
                    registry.find("kverbs.channel.sent").meters().shouldBeEmpty()
                    registry.find("kverbs.server.accepted").meters().size shouldBe 1
                    device.close()
                    registry.meters.filter { it.id.name.startsWith("kverbs.port") }.shouldBeEmpty()
                }
            }
        }

        test("should remove by close what it has added, and not the meters of another binder with equal tags") {
            val registry = SimpleMeterRegistry()
            connectedHosts { client, server ->
                val service = server.bind(serverAddress(7471))
                service.serve(backgroundScope) { it.receive() }
                client.connectMessages(serverAddress(7471)).use { connection ->
                    val first = MessageChannelMetrics(connection.channel, Tags.empty()).also { it.bindTo(registry) }
                    val meters = registry.meters.toSet()
                    val second = MessageChannelMetrics(connection.channel, Tags.empty()).also { it.bindTo(registry) }
                    second.close()
                    registry.meters.toSet() shouldBe meters
                    first.close()
                    registry.meters.shouldBeEmpty()
                    connection.send(ByteArray(1))
                }
            }
        }

        test("should give every meter a description, and name no unit in its name") {
            val registry = SimpleMeterRegistry()
            connectedHosts { client, server ->
                val service = server.bind(serverAddress(7471))
                service.serve(backgroundScope) { it.receive() }
                client.connectMessages(serverAddress(7471)).use { connection ->
                    val pool = connection.pd.bufferPool()
                    listOf(
                        RdmaServerMetrics(service),
                        MessageChannelMetrics(connection.channel, Tags.empty()),
                        CompletionDispatcherMetrics(connection.node.dispatcher),
                        DeviceMetrics(connection.node.context.device()),
                        BufferPoolMetrics(pool, Tags.of("pool", "small")),
                    ).forEach { it.bindTo(registry) }
                    pool.take(4.KiB).use { registry.level("kverbs.pool.taken") shouldBe 4096.0 }
                    connection.send(ByteArray(1))
                }
            }
            registry.meters.filter { it.id.description.isNullOrBlank() }.shouldBeEmpty()
            registry.meters.filter { "bytes" in it.id.name }.shouldBeEmpty()
            registry.meters.filter { it !is FunctionCounter && it !is Gauge }.shouldBeEmpty()
            registry.meters.map { it.id.name } shouldContainAll
                listOf("kverbs.port.sent.packets", "kverbs.pool.waiting")
        }
    })
