package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeLessThanOrEqual
import io.kotest.matchers.longs.shouldBeLessThan
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.produceIn
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import org.kverbs.Diagnostics
import org.kverbs.MemoryRegion
import org.kverbs.MemoryWindow
import org.kverbs.QueuePair
import org.kverbs.RdmaException
import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.QueuePairState
import org.kverbs.dsl.KiB
import org.kverbs.dsl.ReceiveVerbs
import org.kverbs.dsl.get
import org.kverbs.dsl.modify
import org.kverbs.embedded.EmbeddedFabric
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.net.InetSocketAddress
import java.nio.ByteBuffer
import kotlin.time.Duration.Companion.seconds

/** A server and its clients, with slots that are small enough for shared receives or too large. */
private class Served(
    val server: RdmaServer,
    private val client: RdmaHost,
    private val bytes: Int,
) {
    suspend fun connect(): MessageConnection =
        client.connectMessages(server.address) { channel { slotSize(bytes.toLong()) } }

    /** A client that does not follow the protocol. */
    suspend fun connectRaw(ready: (AsyncQueuePair<ReceiveVerbs>) -> Unit): RdmaConnection =
        client.connect(server.address) {
            privateData(ChannelHello(16, bytes, Long.MAX_VALUE).toBytes())
            prepared { ready(it) }
        }
}

private suspend fun served(
    bytes: Int = SHARED,
    handler: suspend CoroutineScope.(MessageConnection) -> Unit,
    block: suspend CoroutineScope.(Served) -> Unit,
): Unit =
    withContext(Dispatchers.Default) {
        rdmaHost { provider("embedded") }.use { server ->
            rdmaHost { provider("embedded") }.use { client ->
                val bound =
                    server.bind(InetSocketAddress("127.0.0.1", 0)) {
                        channel {
                            slotSize(bytes.toLong())
                            keepAlive(null)
                        }
                    }
                coroutineScope {
                    val serving = bound.serve(this, handler)
                    block(Served(bound, client, bytes))
                    serving.cancel()
                }
                bound.close()
            }
        }
    }

private const val SHARED = 4096
private const val PRIVATE = 8192

private inline fun <reified T> open(): List<T> = Diagnostics.openResources().map { it.resource() }.filterIsInstance<T>()

/** Tests channels that share receives and a domain, and channels that cannot: a peer reaches the same memory. */
class SharedChannelsSpec :
    FunSpec({
        beforeSpec { Diagnostics.enable() }
        afterSpec { Diagnostics.disable() }

        for ((receives, slotSize) in listOf("shared" to SHARED, "private" to PRIVATE)) {
            test("should not let a client reach memory published to another client, with $receives receives") {
                val publishing: suspend CoroutineScope.(MessageConnection) -> Unit = { connection ->
                    val table = connection.pd.memoryRegion(64, AccessFlag.REMOTE_READ)
                    table.memory().setString(0, "published")
                    connection.publish("table", table)
                    connection.awaitEnd()
                }
                served(slotSize, publishing) { served ->
                    val (one, other) = List(2) { served.connect() }
                    ((one.node.sharedChannels?.receives?.registered ?: 0) > 0) shouldBe (slotSize == SHARED)
                    val table = one.awaitRemote("table")
                    other.awaitRemote("table").read(0, 9).decodeToString() shouldBe "published"
                    val refusal = shouldThrow<WorkCompletionException> { other.channel.remote(table.memory).read(0, 9) }
                    refusal.status() shouldBe REM_ACCESS_ERR
                    table.read(0, 9).decodeToString() shouldBe "published"
                }
            }

            test("should end a receive when a send without a waiter fails, with $receives receives") {
                val gone = CompletableDeferred<Unit>()
                val failure = CompletableDeferred<Throwable>()
                val sending: suspend CoroutineScope.(MessageConnection) -> Unit = { connection ->
                    gone.await()
                    connection.send(ByteArray(1))
                    failure.complete(shouldThrow<WorkCompletionException> { connection.receive() })
                }
                served(slotSize, sending) { served ->
                    val one = served.connectRaw { }
                    one.queuePair.queuePair.modify { state(QueuePairState.ERR) }
                    gone.complete(Unit)
                    withTimeout(60.seconds) { failure.await() }
                    one.close()
                }
            }

            test("should not let a client read a large message for another client, with $receives receives") {
                val sending: suspend CoroutineScope.(MessageConnection) -> Unit = { connection ->
                    connection.send(ByteArray(100_000) { 7 })
                    connection.awaitEnd()
                }
                served(slotSize, sending) { served ->
                    lateinit var memory: MemoryRegion
                    lateinit var announced: Deferred<Received>
                    val one =
                        served.connectRaw {
                            val pd = it.queuePair.protectionDomain()
                            memory = pd.memoryRegion(slotSize.toLong(), AccessFlag.LOCAL_WRITE)
                            announced = it.postReceive(memory.slice())
                        }
                    announced.await()
                    val message = ByteBuffer.wrap(memory.memory().toArray(JAVA_BYTE), 12, 20)
                    val rkey = message.getInt()
                    val staged = RemoteMemory(message.getLong(), message.getLong(), rkey)
                    staged.length() shouldBe 100_000
                    val other = served.connect()
                    val refusal = shouldThrow<WorkCompletionException> { other.channel.remote(staged).read(0, 8) }
                    refusal.status() shouldBe REM_ACCESS_ERR
                    one.queuePair.read(staged, into = memory[0, 8])
                    memory.memory().get(JAVA_BYTE, 7) shouldBe 7.toByte()
                    one.close()
                }
            }
        }

        test("should end a client's access to published memory when it is withdrawn or its region is closed") {
            for (name in listOf("table", "region")) {
                val withdrawn = CompletableDeferred<Unit>()
                val publishing: suspend CoroutineScope.(MessageConnection) -> Unit = { connection ->
                    val region = connection.pd.memoryRegion(64, AccessFlag.REMOTE_READ)
                    connection.publish("region", region)
                    val table = connection.channel.publish("table", 64)
                    connection.receive()
                    table.withdraw()
                    region.close()
                    withdrawn.complete(Unit)
                    connection.awaitEnd()
                }
                served(handler = publishing) { served ->
                    val client = served.connect()
                    val remote = client.awaitRemote(name)
                    remote.read(0, 8)
                    client.send(ByteArray(1))
                    withdrawn.await()
                    shouldThrow<WorkCompletionException> { remote.read(0, 8) }.status() shouldBe REM_ACCESS_ERR
                }
            }
        }

        test("should hide events of the shared receives from collectors of a device's events") {
            EmbeddedFabric.realTime(1).use { fabric ->
                val device = fabric.addDevice()
                rdmaHost { device(device) }.use { host ->
                    coroutineScope {
                        val server = host.bind(InetSocketAddress("198.18.0.1", 0))
                        server.serve(
                            this,
                        ) { connection -> for (message in connection.incoming) connection.send(message) }
                        val client = host.connectMessages(server.address)
                        val events = client.node.context.asyncEvents().produceIn(this)
                        val receives = checkNotNull(client.node.sharedChannels).receives
                        receives.queue.limit(receives.registered)
                        client.send(ByteArray(1))
                        client.receive()
                        receives.queue.query().limit() shouldBe 0 // the limit was reached
                        val queuePair = client.channel.queuePair.queuePair
                        queuePair.modify { state(QueuePairState.ERR) }
                        shouldThrow<RdmaException> { client.receive() }
                        fabric.linkDown(device)
                        withTimeout(20.seconds) { events.receive() }.type() shouldBe AsyncEventType.PORT_ERR
                        events.cancel()
                        server.close()
                    }
                }
            }
        }

        test("should close with its host a connection that has published something") {
            served(handler = { it.awaitEnd() }) { served ->
                val client = served.connect()
                client.channel.publish("table", 64)
                client.publish("region", client.pd.memoryRegion(64, AccessFlag.REMOTE_READ))
                client.node.close()
            }
            open<MemoryWindow>() shouldBe emptyList()
        }

        test("should use memory of the connection's domain with a channel in another domain") {
            val echo: suspend CoroutineScope.(MessageConnection) -> Unit = { connection ->
                connection.pd.bufferPool().use { pool ->
                    pool.take(50_000).use { buffer ->
                        repeat(2) {
                            val length = connection.receive(buffer)
                            connection.send(buffer, length)
                        }
                    }
                }
                connection.finish()
                connection.awaitEnd()
            }
            served(handler = echo) { served ->
                val client = served.connect()
                for (size in listOf(100, 50_000)) {
                    val message = ByteArray(size) { it.toByte() }
                    client.send(message)
                    client.receive().contentEquals(message) shouldBe true
                }
                client.receiveOrNull().shouldBeNull()
            }
        }

        test("should take floods of messages on many connections with fewer receives than messages") {
            val gate = CompletableDeferred<Unit>()
            val counting: suspend CoroutineScope.(MessageConnection) -> Unit = { connection ->
                gate.await()
                repeat(MESSAGES) { check(connection.receive()[0] == it.toByte()) }
                connection.send(ByteArray(0))
                connection.awaitEnd()
            }
            served(handler = counting) { served ->
                val clients = List(CLIENTS) { served.connect() }
                clients.map { async { repeat(MESSAGES) { n -> it.send(ByteArray(3000) { n.toByte() }) } } }.awaitAll()
                gate.complete(Unit)
                clients.map { async { it.receive().size } }.awaitAll() shouldBe List(CLIENTS) { 0 }
                val shared = clients.first().node.sharedChannels.shouldNotBeNull()
                shared.receives.registered shouldBeLessThanOrEqual 1024
                clients.forEach { it.close() }
            }
        }

        test("should still receive after many connections were closed with messages under way") {
            val rude: suspend CoroutineScope.(MessageConnection) -> Unit = { connection ->
                if (connection.receive().size == 1) connection.close() else connection.send(ByteArray(2))
            }
            served(handler = rude) { served ->
                repeat(200) {
                    val client = served.connect()
                    runCatching { repeat(12) { client.send(ByteArray(1)) } }
                    client.close()
                }
                val last = served.connect()
                last.send(ByteArray(2))
                withTimeout(20.seconds) { last.receive().size } shouldBe 2
                last.close()
            }
        }

        test("should free everything of a connection when it ends") {
            val echo: suspend CoroutineScope.(MessageConnection) -> Unit = { connection ->
                connection.channel.publish("table", 64)
                for (message in connection.incoming) connection.send(message)
            }
            served(handler = echo) { served ->
                suspend fun use() {
                    val client = served.connect()
                    client.awaitRemote("table").read(0, 8)
                    client.send(ByteArray(10_000))
                    client.receive().size shouldBe 10_000
                    client.close()
                    withTimeout(20.seconds) {
                        while (open<QueuePair>().isNotEmpty() || open<MemoryWindow>().isNotEmpty()) delay(1)
                    }
                }
                List(3) { served.connect() }.forEach { it.close() } // slots for a few that end while others begin
                use()
                val before = open<MemoryRegion>().sumOf { it.length() }
                repeat(20) { use() }
                open<MemoryRegion>().sumOf { it.length() } - before shouldBeLessThan 1.KiB
            }
        }

        test("should register almost nothing for another idle connection") {
            served(handler = { it.awaitEnd() }) { served ->
                val clients = ArrayList<MessageConnection>()
                repeat(60) { clients += served.connect() }
                val before = open<MemoryRegion>().sumOf { it.length() }
                repeat(60) { clients += served.connect() }
                (open<MemoryRegion>().sumOf { it.length() } - before) / (2 * 60) shouldBeLessThan 2.KiB
                clients.forEach { it.close() }
            }
        }
    })

private const val CLIENTS = 80
private const val MESSAGES = 16
