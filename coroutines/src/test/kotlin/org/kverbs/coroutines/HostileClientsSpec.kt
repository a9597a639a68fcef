package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.inspectors.forAll
import io.kotest.matchers.ints.shouldBeLessThanOrEqual
import io.kotest.matchers.longs.shouldBeLessThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeout
import org.kverbs.CompletionQueue
import org.kverbs.Diagnostics
import org.kverbs.MemoryRegion
import org.kverbs.attributes.QueuePairState
import org.kverbs.cm.ConnectionEventType.ADDR_RESOLVED
import org.kverbs.cm.ConnectionEventType.ROUTE_RESOLVED
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.ConnectionRejectedException
import org.kverbs.cm.ConnectionStep
import org.kverbs.cm.PortSpace
import org.kverbs.dsl.KiB
import org.kverbs.dsl.MiB
import org.kverbs.dsl.RC
import org.kverbs.embedded.EmbeddedFabric
import java.net.InetSocketAddress
import java.util.concurrent.ConcurrentLinkedQueue
import kotlin.random.Random
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds
import kotlin.time.toJavaDuration

private val SOON = 20.seconds
private val CROWD = InetSocketAddress("198.18.0.2", 0)

/** Requests a connection and never confirms it. */
private suspend fun RdmaHost.askOnly(server: InetSocketAddress) {
    val steps = newId(PortSpace.TCP)
    val id = steps.id
    id.resolveAddress(CROWD, server, SOON.toJavaDuration())
    steps.await(ConnectionStep.RESOLVE_ADDRESS, server, SOON, ADDR_RESOLVED)
    id.resolveRoute(SOON.toJavaDuration())
    steps.await(ConnectionStep.RESOLVE_ROUTE, server, SOON, ROUTE_RESOLVED)
    val node = node(id)
    val qp = node.dispatcher.qp(node.pd, RC) { maxRecvWr(1) }.queuePair
    id.prepare(qp, QueuePairState.INIT)
    id.connect(qp, ConnectionParameters.DEFAULTS.withPrivateData(ChannelHello(4, 4096, 1000).toBytes()))
}

private suspend fun talk(
    client: RdmaHost,
    server: InetSocketAddress,
) = client.connectMessages(server) { timeout(SOON) }.use {
    it.send("hello".encodeToByteArray())
    it.receive().decodeToString() shouldBe "hello"
    it.disconnect()
}

private fun resources() = Diagnostics.openResources().map { it.resource() }

/**
 * The open resources without those that the connections of a device share: completion queues and the memory of the
 * receive slots.
 */
private fun heldForConnections() = resources().count { it !is CompletionQueue && it !is MemoryRegion }

private fun registered() = resources().filterIsInstance<MemoryRegion>().sumOf { it.length() }

private suspend fun eventually(holds: () -> Boolean) = withTimeout(60.seconds) { while (!holds()) delay(5) }

class HostileClientsSpec :
    FunSpec({
        timeout = 240_000

        suspend fun echoing(
            settings: ServerBuilder.() -> Unit = {},
            block: suspend CoroutineScope.(
                server: RdmaServer,
                address: InetSocketAddress,
                hostile: RdmaHost,
                honest: RdmaHost,
            ) -> Unit,
        ) = coroutineScope {
            val hosts = List(3) { rdmaHost { provider("embedded") } }
            try {
                val server =
                    hosts[0].bind(0) {
                        onFailure {}
                        settings()
                    }
                server.serve(this) { for (message in it.incoming) it.send(message) }
                block(server, InetSocketAddress("198.18.0.1", server.address.port), hosts[1], hosts[2])
                server.close()
            } finally {
                hosts.forEach { it.close() }
            }
        }

        test("should serve other clients while one address requests many connections and confirms none") {
            echoing({
                maxHalfOpen(16)
                timeout(1.minutes)
            }) { server, address, hostile, honest ->
                repeat(300) { hostile.askOnly(address) }
                eventually { server.stats.halfOpen == 16 }
                repeat(10) {
                    talk(honest, address)
                    server.stats.halfOpen shouldBeLessThanOrEqual 16
                }
            }
        }

        test("should keep nothing of requests of another protocol, and serve other clients meanwhile") {
            diagnosed {
                echoing { server, address, hostile, honest ->
                    talk(honest, address)
                    // all devices are open then
                    shouldThrow<ConnectionRejectedException> { hostile.connect(address) }
                    eventually { server.stats.connections == 0 }
                    val before = heldForConnections()
                    val others = async { repeat(20) { talk(honest, address) } }
                    val random = Random(1)
                    val hello = ChannelHello(4, 4096, 1000).toBytes()
                    coroutineScope {
                        repeat(300) { number ->
                            val bytes =
                                if (number % 2 == 0) {
                                    random.nextBytes(random.nextInt(57))
                                } else {
                                    hello.clone().also { it[random.nextInt(6)] = -1 }
                                }
                            val asking = async { runCatching { hostile.connect(address) { privateData(bytes) } } }
                            if (number % 10 == 0) {
                                asking.await().exceptionOrNull().shouldBeInstanceOf<ConnectionRejectedException>()
                            }
                        }
                    }
                    others.await()
                    eventually { server.stats.connections == 0 }
                    // A client hears of its rejection before the server has counted it.
                    eventually { server.stats.rejected == 301L }
                    server.stats.rejected shouldBe 301
                    eventually { heldForConnections() <= before }
                }
            }
        }

        test("should free the places of idle clients after the idle timeout, but not those of active clients") {
            val failures = ConcurrentLinkedQueue<String>()
            echoing({
                maxConnections(20)
                idleTimeout(3.seconds)
                onFailure { failures += it.message.orEmpty() }
            }) { server, address, hostile, honest ->
                val talking = honest.connectMessages(address)
                val asking =
                    launch {
                        while (true) {
                            talking.send(ByteArray(1))
                            talking.receive()
                            delay(50)
                        }
                    }
                val silent = List(19) { hostile.connectMessages(address) }
                silent.forEach { it.awaitEnd() }
                eventually { server.stats.connections == 1 }
                eventually { failures.size == 19 }
                failures.forAll { it shouldContain "no message went over it for 3s (idleTimeout)" }
                talking.isOpen shouldBe true
                talk(honest, address)
                asking.cancel()
            }
        }

        test(
            "should not end a client that only uses published memory, nor one whose memory the server uses",
        ) {
            rdmaHost { provider("embedded") }.use { host ->
                coroutineScope {
                    val server =
                        host.bind(0) {
                            idleTimeout(2.seconds)
                            keepAlive(null)
                            onFailure {}
                        }
                    server.serve(this) { connection ->
                        connection.publish("table", 64)
                        val kind = connection.receive()
                        if (kind.isNotEmpty()) {
                            val theirs = connection.awaitRemote("theirs")
                            while (true) delay(50).also { theirs.readLong(0) }
                        }
                        connection.awaitEnd()
                    }
                    val address = InetSocketAddress("127.0.0.1", server.address.port)
                    val reading = host.connectMessages(address) { keepAlive(200.milliseconds) }
                    reading.send(ByteArray(0))
                    val table = reading.awaitRemote("table")
                    val use = launch { while (true) delay(50).also { table.readLong(0) } }
                    val lending = host.connectMessages(address)
                    lending.send(ByteArray(1))
                    lending.publish("theirs", 64)
                    repeat(2) { host.connectMessages(address).use { it.awaitEnd() } } // clients that do nothing
                    reading.isOpen shouldBe true
                    lending.isOpen shouldBe true
                    use.cancel()
                    server.close()
                }
            }
        }

        test("should keep nothing of a thousand clients that were killed") {
            diagnosed {
                EmbeddedFabric.realTime(1).use { fabric ->
                    // the first device, whose connection manager leads to the others
                    val device = fabric.addDevice()
                    val clients = rdmaHost { device(device) }
                    val host = rdmaHost { device(fabric.addDevice()) }
                    coroutineScope {
                        val server =
                            host.bind(InetSocketAddress("198.18.0.2", 0)) {
                                keepAlive(1.seconds)
                                onFailure {}
                            }
                        server.serve(this) { for (message in it.incoming) it.send(message) }
                        talk(clients, server.address)
                        eventually { server.stats.connections == 0 }
                        val before = heldForConnections()
                        val registeredBefore = registered()
                        List(8) { async { repeat(125) { clients.connectMessages(server.address) } } }.awaitAll()
                        eventually { server.stats.connections == 1000 }
                        fabric.kill(device)
                        eventually { server.stats.connections == 0 }
                        server.stats.memory shouldBe 0
                        clients.close()
                        withClue("$before resources were open before the clients came") {
                            eventually { heldForConnections() <= before }
                        }
                        // a thousand connections with slots of their own need 112 MiB
                        registered() - registeredBefore shouldBeLessThan 8.MiB
                        server.close()
                    }
                    host.close()
                }
            }
        }

        test(
            "should hold large messages up to its memory limit, and let further ones wait in their senders' memory",
        ) {
            val mayReceive = Channel<Unit>(Channel.UNLIMITED)
            val received = Channel<Int>(Channel.UNLIMITED)
            rdmaHost { provider("embedded") }.use { host ->
                rdmaHost { provider("embedded") }.use { client ->
                    val server =
                        host.bind(0) {
                            maxMemory(250.KiB)
                            maxMemoryPerConnection(110.KiB)
                            maxMessageSize(100.KiB)
                            channel {
                                receiveSlots(2)
                                largeMessages(1)
                                slotSize(512)
                            }
                        }
                    coroutineScope {
                        server.serve(this) {
                            mayReceive.receive()
                            received.send(it.receive().size)
                        }
                        val clients =
                            List(3) { client.connectMessages(InetSocketAddress("127.0.0.1", server.address.port)) }
                        clients.forEach { it.send(ByteArray(100_000)) }
                        val most = 3 * 4.KiB + 2 * 98.KiB // slots of three clients and two messages
                        eventually { server.connections.sumOf { it.stats.waitingMessages } == 3 }
                        eventually { server.stats.memory == most }
                        repeat(3) { mayReceive.send(Unit) }
                        repeat(3) { received.receive() shouldBe 100_000 }
                        eventually { server.stats.connections == 0 && server.stats.memory == 0L }
                        clients.forEach { it.close() }
                        server.close()
                    }
                }
            }
        }
    })
