package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.collections.shouldContainExactlyInAnyOrder
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldStartWith
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart.UNDISPATCHED
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.kverbs.MemoryRegion
import org.kverbs.RdmaException
import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionStatus
import org.kverbs.acceptance.contract.Capability.ATOMICS
import org.kverbs.acceptance.contract.Capability.DATAGRAM
import org.kverbs.acceptance.contract.Capability.MULTICAST_ROUTE
import org.kverbs.acceptance.contract.Capability.RAW_CONNECT
import org.kverbs.attributes.TransportType
import org.kverbs.cm.ConnectionException
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.ConnectionRejectedException
import org.kverbs.cm.ConnectionStep
import org.kverbs.cm.PortSpace
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.RdmaConnection
import org.kverbs.coroutines.RdmaHost
import org.kverbs.coroutines.Received
import org.kverbs.coroutines.acceptDatagrams
import org.kverbs.coroutines.acceptMessages
import org.kverbs.coroutines.completionDispatcher
import org.kverbs.coroutines.connect
import org.kverbs.coroutines.connectDatagrams
import org.kverbs.coroutines.connectMessages
import org.kverbs.coroutines.connectOver
import org.kverbs.coroutines.fetchAndAdd
import org.kverbs.coroutines.joinMulticast
import org.kverbs.coroutines.postReceive
import org.kverbs.coroutines.qp
import org.kverbs.coroutines.rdmaHost
import org.kverbs.coroutines.read
import org.kverbs.coroutines.receive
import org.kverbs.coroutines.send
import org.kverbs.coroutines.write
import org.kverbs.dsl.RC
import org.kverbs.dsl.get
import java.net.InetAddress
import java.net.InetSocketAddress
import java.nio.channels.ServerSocketChannel
import java.nio.channels.SocketChannel
import kotlin.time.Duration.Companion.milliseconds

/** Checks suspend functions and message channels over connections by address, with both ends in this process. */
internal class CoroutineSpec :
    ContractSpec({
        case("should suspend until messages, writes and reads are done, over a connection by address") {
            connected { client, server ->
                val here = client.pd.memoryRegion(256, *FULL_ACCESS)
                val there = server.pd.memoryRegion(256, *FULL_ACCESS)
                here.memory().setString(0, "suspended")
                val received = server.queuePair.postReceive(there[0, 64])
                client.queuePair.send(here[0, 10])
                received.await().length shouldBe 10
                there.memory().getString(0) shouldBe "suspended"
                client.queuePair.write(here[0, 10], to = there.remote(), offset = 100)
                client.queuePair.read(there.remote(), into = here[200, 10], offset = 100)
                here.memory().getString(200) shouldBe "suspended"
            }
        }

        case("should end every call after the peer has gone, whether the device flushes it or not") {
            connected { client, server ->
                val memory = client.pd.memoryRegion(64, *FULL_ACCESS)
                val far = RemoteMemory(memory.address(), 8, 1)
                server.close()
                client.awaitEnd()
                repeat(2) {
                    val received = async { runCatching { client.queuePair.receive(memory[8, 8]) } }
                    val posted = async { runCatching { client.queuePair.postReceive(memory[16, 8]).await() } }
                    shouldThrow<RdmaException> { client.queuePair.send(memory[0, 8]) }
                    shouldThrow<RdmaException> { client.queuePair.read(far, into = memory[24, 8]) }
                    received.await().exceptionOrNull().shouldBeInstanceOf<RdmaException>()
                    posted.await().exceptionOrNull().shouldBeInstanceOf<RdmaException>()
                    delay(1500.milliseconds) // in this time the device could have flushed the posted requests
                }
            }
        }

        case("should give the message that comes to a cancelled receive to the next") {
            connected { client, server ->
                val here = client.pd.memoryRegion(64, *FULL_ACCESS)
                val there = server.pd.memoryRegion(128, *FULL_ACCESS)
                // Posts its request before it returns. A receive that a timer cancels too early posts none; then the
                // message would wait for the next receive, and the next receive for the end of the send.
                launch(start = UNDISPATCHED) { server.queuePair.receive(there[0, 64]) }.cancelAndJoin()
                here.memory().setString(0, "kept")
                client.queuePair.send(here[0, 5])
                server.queuePair.receive(there[64, 64]).length shouldBe 5
                there.memory().getString(64) shouldBe "kept"
            }
        }

        case("should count without losing one", ATOMICS) {
            connected { client, server ->
                val counter = server.pd.memoryRegion(8, *everyAccess())
                val numbers = List(50) { async { client.queuePair.fetchAndAdd(counter.remote(), 1) } }.awaitAll()
                numbers.sorted() shouldBe List(50) { it.toLong() }
            }
        }

        case("should give one dispatcher a hundred queue pairs of a page each") {
            context.completionDispatcher().use { dispatcher ->
                val made =
                    List(100) {
                        dispatcher.qp(pd, RC) {
                            maxSendWr(1)
                            maxRecvWr(1)
                        }
                    }
                made.map { it.queuePair.number() }.toSet().size shouldBe 100
                made.forEach { it.close() }
            }
        }

        case("should fail waiting calls when the peer is gone") {
            connected { client, server ->
                val there = server.pd.memoryRegion(64, *FULL_ACCESS)
                val waiting = server.queuePair.postReceive(there[0, 64])
                client.close()
                shouldThrow<WorkCompletionException> { waiting.await() }.status() shouldBe
                    WorkCompletionStatus.WR_FLUSH_ERR
            }
        }

        case("should tell a rejected client the reason") {
            hosts { client, server ->
                server.listen(at(0)).use { listener ->
                    launch { listener.awaitRequest().reject("not today".encodeToByteArray()) }
                    val refusal = shouldThrow<ConnectionRejectedException> { client.connect(listener.address) }
                    refusal.privateData().decodeToString() shouldStartWith "not today"
                }
            }
        }

        case("should answer within the reads and atomics of the request", RAW_CONNECT) {
            hosts { client, server ->
                val listener = server.listen(at(0))
                val accepted =
                    async {
                        listener.awaitRequest().accept { parameters(ConnectionParameters.DEFAULTS.withReads(8, 8)) }
                    }
                // Powers of two, to which Soft-RoCE rounds other numbers.
                client.connect(listener.address) { parameters(ConnectionParameters.DEFAULTS.withReads(2, 4)) }
                val attributes = accepted.await().queuePair.queuePair.query()
                attributes.maxDestReadAtomic() shouldBe 4
                attributes.maxReadAtomic() shouldBe 2
            }
        }

        case("should have 16 reads in flight in a message channel", RAW_CONNECT) {
            messages { client, server ->
                listOf(client, server).forEach {
                    val attributes = it.channel.queuePair.queuePair.query()
                    attributes.maxReadAtomic() shouldBe 16
                    attributes.maxDestReadAtomic() shouldBe 16
                }
            }
        }

        case("should connect by a host and a port") {
            hosts { client, server ->
                server.listen(0).use { listener ->
                    val accepted = async { listener.accept() }
                    val asking = client.connect(ip, listener.address.port)
                    val asked = accepted.await()
                    val received = asked.queuePair.postReceive(asked.pd.memoryRegion(64, *FULL_ACCESS)[0, 64])
                    asking.queuePair.send(asking.pd.memoryRegion(64, *FULL_ACCESS)[0, 10])
                    received.await().length shouldBe 10
                }
            }
        }

        case("should connect over a socket of TCP, and hand over a note", RAW_CONNECT) {
            val dispatcher = context.completionDispatcher()
            val (here, there) = List(2) { dispatcher.qp(pd, RC) }
            val memory = pd.memoryRegion(128, *FULL_ACCESS)
            memory.memory().setString(0, "by hand")
            ServerSocketChannel.open().use { listener ->
                listener.bind(InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                SocketChannel.open(listener.localAddress).use { near ->
                    runBlocking(Dispatchers.Default) {
                        val serving =
                            async { listener.accept().use { there.connectOver(it, memory.remote().toText()) } }
                        here.write(memory[0, 8], to = RemoteMemory.parse(here.connectOver(near)), offset = 64)
                        serving.await() shouldBe ""
                    }
                }
            }
            memory.memory().getString(64) shouldBe "by hand"
        }

        case("should serve two datagram clients with one queue pair", DATAGRAM) {
            hosts { client, server ->
                server.listen(at(0), portSpace = PortSpace.UDP).use { listener ->
                    lateinit var memory: MemoryRegion
                    val came = ArrayList<Deferred<Received>>()
                    val serving =
                        async {
                            val first =
                                listener.awaitRequest().acceptDatagrams {
                                    prepared {
                                        memory = it.queuePair.protectionDomain().memoryRegion(256, *FULL_ACCESS)
                                        repeat(2) { n -> came += it.postReceive(memory[n * 128L, 128]) }
                                    }
                                }
                            listener.awaitRequest().acceptDatagrams(first, "as well".encodeToByteArray())
                        }
                    val asking = List(2) { client.connectDatagrams(listener.address) }
                    serving.await()
                    asking[1].privateData.decodeToString() shouldStartWith "as well"
                    for (one in asking) {
                        one.queuePair.send(
                            one.pd.memoryRegion(64, *FULL_ACCESS)[0, 9],
                            one.service.shouldNotBeNull(),
                        )
                    }
                    came.awaitAll().map { it.sourceQueuePair } shouldContainExactlyInAnyOrder
                        asking.map { it.queuePair.queuePair.number() }
                    came[0].await().length shouldBe GRH_BYTES + 9
                }
            }
        }

        case("should receive the messages of a multicast group", MULTICAST_ROUTE, DATAGRAM) {
            hosts { speaking, listening ->
                val (group, at) = InetAddress.ofLiteral(drawnGroup()) to InetAddress.ofLiteral(ip)
                lateinit var memory: MemoryRegion
                lateinit var received: Deferred<Received>
                val member =
                    listening.joinMulticast(group, at) {
                        prepared {
                            memory = it.queuePair.protectionDomain().memoryRegion(128, *FULL_ACCESS)
                            received = it.postReceive(memory[0, 128])
                        }
                    }
                val speaker = speaking.joinMulticast(group, at, sendOnly = true)
                val from = speaker.pd.memoryRegion(64, *FULL_ACCESS)
                from.memory().setString(0, "to all")
                speaker.queuePair.send(from[0, 7], speaker.group)
                received.await().length shouldBe GRH_BYTES + 7
                memory.memory().getString(GRH_BYTES) shouldBe "to all"
                speaker.close()
                member.close()
            }
        }

        case("should tell that a client has gone before it was accepted, or end the connection") {
            hosts { client, server ->
                server.listen(at(0)).use { listener ->
                    val asking = launch { client.connect(listener.address) }
                    val request = listener.awaitRequest()
                    asking.cancel()
                    delay(200) // the news of it is in flight
                    val accepting = runCatching { request.accept() }
                    // On iWARP to go waits for the answer, and one that says yes is heard before that.
                    if (accepting.isSuccess && context.device().transportType() == TransportType.IWARP) {
                        accepting.getOrThrow().awaitEnd()
                    } else {
                        accepting.exceptionOrNull().shouldBeInstanceOf<ConnectionException>().step() shouldBe
                            ConnectionStep.ACCEPT
                    }
                }
            }
        }

        case("should echo messages of every length, and end with the last") {
            messages { client, server ->
                launch {
                    for (message in server.incoming) server.send(message)
                    server.finish()
                }
                for (size in listOf(0, 1, 4088, 4089, 100_000)) {
                    val message = ByteArray(size) { (it * 31 + size).toByte() }
                    launch { client.send(message) }
                    client.receive().contentEquals(message) shouldBe true
                }
                client.finish()
            }
        }

        case("should keep a client from memory that was published to another") {
            hosts { client, server ->
                val listener = server.listen(at(0))
                val connections =
                    List(2) {
                        val accepted = async { listener.awaitRequest().acceptMessages() }
                        client.connectMessages(listener.address) to accepted.await()
                    }
                val (one, other) = connections.map { it.first }
                connections.first().second.channel.publish("table", 64).memory.setString(0, "published")
                val table = one.remote("table")
                table.read(0, 9).decodeToString() shouldBe "published"
                shouldThrow<RdmaException> { other.channel.remote(table.memory).read(0, 9) }
                table.read(0, 9).decodeToString() shouldBe "published"
            }
        }

        case("should keep the order of many messages that are received slowly") {
            messages { client, server ->
                launch { repeat(500) { client.send("message $it".encodeToByteArray()) } }
                repeat(500) {
                    if (it % 100 == 0) delay(5)
                    server.receive().decodeToString() shouldBe "message $it"
                }
            }
        }
    })

private fun Bench.hosts(block: suspend CoroutineScope.(client: RdmaHost, server: RdmaHost) -> Unit) =
    runBlocking(Dispatchers.Default) {
        rdmaHost { device(context.device()) }.use { client ->
            rdmaHost { device(context.device()) }.use { server -> coroutineScope { block(client, server) } }
        }
    }

private fun Bench.connected(block: suspend CoroutineScope.(client: RdmaConnection, server: RdmaConnection) -> Unit) =
    hosts { client, server ->
        val listener = server.listen(at(0))
        val accepted = async { listener.accept() }
        val connection = client.connect(listener.address)
        block(connection, accepted.await())
    }

private fun Bench.messages(
    block: suspend CoroutineScope.(client: MessageConnection, server: MessageConnection) -> Unit,
) = hosts { client, server ->
    val listener = server.listen(at(0))
    val accepted = async { listener.awaitRequest().acceptMessages() }
    val connection = client.connectMessages(listener.address)
    coroutineScope { block(connection, accepted.await()) }
}
