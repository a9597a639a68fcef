package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.ints.shouldBeLessThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldStartWith
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runInterruptible
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.coroutines.yield
import org.kverbs.Context
import org.kverbs.Diagnostics
import org.kverbs.QueuePair
import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionException
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.Feature
import org.kverbs.cm.ConnectionException
import org.kverbs.cm.ConnectionId
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.ConnectionRejectedException
import org.kverbs.dsl.get
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.net.InetSocketAddress
import java.util.concurrent.CountDownLatch
import kotlin.coroutines.CoroutineContext
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

private val ANYWHERE = InetSocketAddress("0.0.0.0", 0)

private fun connections(): List<String> =
    Diagnostics
        .openResources()
        .map { it.resource() }
        .filter { it is QueuePair || it is ConnectionId }
        .map { it.describe() }

/**
 * Returns the open queue pairs and connection ids when they satisfy the condition: a peer learns of an end a little
 * later.
 */
private suspend fun openConnections(isExpected: (List<String>) -> Boolean): List<String> {
    withTimeoutOrNull(20.seconds) { while (!isExpected(connections())) delay(10) }
    return connections()
}

class RdmaHostSpec :
    FunSpec({
        timeout = 60_000

        suspend fun pair(
            block: suspend (
                server: RdmaHost,
                listener: RdmaListener,
                client: RdmaHost,
                address: InetSocketAddress,
            ) -> Unit,
        ) {
            rdmaHost { provider("embedded") }.use { server ->
                rdmaHost { provider("embedded") }.use { client ->
                    val listener = server.listen(ANYWHERE)
                    block(server, listener, client, InetSocketAddress("127.0.0.1", listener.address.port))
                }
            }
        }

        test("should connect, move data in both directions, and end on both sides") {
            pair { _, listener, client, address ->
                coroutineScope {
                    val served =
                        async {
                            val connection = listener.accept()
                            val region = connection.pd.memoryRegion(64, AccessFlag.LOCAL_WRITE)
                            val length = connection.queuePair.receive(region[0, 64]).length
                            connection.queuePair.send(region[0, length])
                            connection.awaitEnd()
                            connection.close()
                            length
                        }
                    val connection = client.connect(address)
                    val region = connection.pd.memoryRegion(128, AccessFlag.LOCAL_WRITE)
                    region.memory().setString(0, "hello")
                    val echo =
                        async(start = CoroutineStart.UNDISPATCHED) { connection.queuePair.receive(region[64, 64]) }
                    connection.queuePair.send(region[0, 6])
                    echo.await().length shouldBe 6
                    region.memory().getString(64) shouldBe "hello"
                    connection.disconnect()
                    served.await() shouldBe 6
                }
            }
        }

        test("should flush memory of a peer that was connected by its address") {
            pair { _, listener, client, address ->
                coroutineScope {
                    val shared = CompletableDeferred<RemoteMemory>()
                    val written =
                        async {
                            val connection = listener.accept()
                            val rights =
                                arrayOf(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.FLUSH_GLOBAL)
                            val region = connection.pd.memoryRegion(64, *rights)
                            shared.complete(region.remote())
                            connection.awaitEnd()
                            region.memory().get(JAVA_LONG, 8).also { connection.close() }
                        }
                    val connection =
                        client.connect(address) { queuePair { extended(Feature.ATOMIC_WRITE, Feature.FLUSH) } }
                    connection.queuePair.atomicWrite(42, to = shared.await(), offset = 8)
                    connection.queuePair.flush(shared.await())
                    connection.disconnect()
                    written.await() shouldBe 42
                }
            }
        }

        test("should carry private data in both directions") {
            pair { _, listener, client, address ->
                coroutineScope {
                    launch {
                        val request = listener.awaitRequest()
                        request.privateData.decodeToString() shouldStartWith "who is there"
                        request.accept { privateData("it is me".encodeToByteArray()) }.awaitEnd()
                    }
                    client.connect(address) { privateData("who is there".encodeToByteArray()) }.use {
                        it.privateData.decodeToString() shouldStartWith "it is me"
                    }
                }
            }
        }

        test("should tell a rejected client the reason") {
            pair { _, listener, client, address ->
                coroutineScope {
                    launch { listener.awaitRequest().reject("not today".encodeToByteArray()) }
                    val refusal = shouldThrow<ConnectionRejectedException> { client.connect(address) }
                    refusal.privateData().decodeToString() shouldStartWith "not today"
                    refusal.address() shouldBe address
                }
            }
        }

        test("should report that no program listens at the port") {
            pair { _, listener, client, address ->
                listener.close()
                shouldThrow<ConnectionException> { client.connect(address) }.message shouldContain
                    address.port.toString()
            }
        }

        test("should give up when no peer answers a request") {
            pair { _, _, client, address ->
                val failure = shouldThrow<ConnectionException> { client.connect(address) { timeout(100.milliseconds) } }
                failure.message shouldContain "127.0.0.1"
            }
        }

        test("should leave nothing behind when connecting is cancelled before an answer") {
            diagnosed {
                pair { _, listener, client, address ->
                    coroutineScope {
                        val connecting = launch(Dispatchers.Default) { client.connect(address) }
                        val request = listener.awaitRequest()
                        connecting.cancelAndJoin()
                        connecting.isCancelled shouldBe true

                        fun queuePairs(open: List<String>) = open.filter { it.startsWith("queue pair") }
                        queuePairs(openConnections { queuePairs(it).isEmpty() }).shouldBeEmpty()
                        request.rejectQuietly()
                        openConnections { it.size == 1 } shouldHaveSize 1 // the listener
                    }
                }
            }
        }

        test("should leave nothing behind when connecting is cancelled at any step") {
            diagnosed {
                pair { _, listener, client, address ->
                    coroutineScope {
                        val server =
                            launch {
                                while (true) {
                                    val request = listener.awaitRequest()
                                    launch {
                                        runCatching {
                                            request
                                                .accept {
                                                    timeout(
                                                        1.seconds,
                                                    )
                                                }.use { it.awaitEnd() }
                                        }
                                    }
                                }
                            }
                        var connected = 0
                        repeat(300) { number ->
                            val connecting = launch(Dispatchers.Default) { client.connect(address).use { connected++ } }
                            if (number % 3 == 0) delay(number % 7L) else repeat(number % 50) { yield() }
                            connecting.cancelAndJoin()
                        }
                        withClue("$connected of 300 were connected in spite of it") {
                            openConnections { it.size == 1 } shouldHaveSize 1
                            connected shouldBeLessThan 300
                        }
                        client.connect(address).disconnect()
                        server.cancel()
                    }
                }
            }
        }

        test("should fail waiting calls when the peer disconnects") {
            pair { _, listener, client, address ->
                coroutineScope {
                    launch { listener.accept().close() }
                    val connection = client.connect(address)
                    val region = connection.pd.memoryRegion(64, AccessFlag.LOCAL_WRITE)
                    shouldThrow<WorkCompletionException> { connection.queuePair.receive(region[0, 64]) }
                    connection.awaitEnd()
                }
            }
        }

        test("should end every wait when the host is closed") {
            pair { server, listener, client, address ->
                coroutineScope {
                    val connected = async { client.connect(address) }
                    val connection = listener.accept()
                    connected.await()
                    val region = connection.pd.memoryRegion(64, AccessFlag.LOCAL_WRITE)
                    val waits =
                        listOf(
                            async(
                                start = CoroutineStart.UNDISPATCHED,
                            ) { runCatching { connection.queuePair.receive(region[0, 64]) } },
                            async(start = CoroutineStart.UNDISPATCHED) { runCatching { listener.awaitRequest() } },
                        )
                    server.close()
                    waits.awaitAll().forEach { it.exceptionOrNull()!!.message!! shouldContain "closed" }
                }
            }
        }

        test("should end connection attempts when it is closed, even if its thread is busy") {
            val isBusy = CountDownLatch(1)
            val mayGoOn = CountDownLatch(1)
            val slow =
                object : CoroutineDispatcher() {
                    override fun dispatch(
                        context: CoroutineContext,
                        block: Runnable,
                    ) {
                        isBusy.countDown()
                        mayGoOn.await()
                        Dispatchers.Default.dispatch(context, block)
                    }
                }
            pair { server, listener, client, address ->
                coroutineScope {
                    val settings: ConnectionBuilder.() -> Unit = { timeout(1.hours) }
                    val connecting = async(Dispatchers.Default) { runCatching { client.connect(address, settings) } }
                    listener.awaitRequest() // the request stays without an answer
                    val own = client.listen(ANYWHERE)
                    val ownAddress = InetSocketAddress("127.0.0.1", own.address.port)
                    launch(slow, CoroutineStart.UNDISPATCHED) { runCatching { own.awaitRequest() } }
                    val asking = launch(Dispatchers.Default) { runCatching { server.connect(ownAddress, settings) } }
                    try {
                        runInterruptible(Dispatchers.IO) { isBusy.await() }
                        client.close()
                    } finally {
                        mayGoOn.countDown()
                    }
                    connecting.await().exceptionOrNull()!!.message!! shouldContain "closed"
                    asking.cancelAndJoin()
                }
            }
        }

        test("should not open a device during its close and leak it") {
            diagnosed {
                repeat(60) { round ->
                    val host = rdmaHost { provider("embedded") }
                    val listener = host.listen(ANYWHERE)
                    coroutineScope {
                        launch(Dispatchers.Default) {
                            runCatching {
                                host.connect(
                                    InetSocketAddress("127.0.0.1", listener.address.port),
                                ) { timeout(1.seconds) }
                            }
                        }
                        if (round % 2 == 0) delay(1) else repeat(round) { yield() }
                        host.close()
                    }
                }
                Diagnostics
                    .openResources()
                    .filter { it.resource() is Context }
                    .map { it.resource().describe() }
                    .shouldBeEmpty()
            }
        }

        test("should serve many connections at once") {
            pair { _, listener, client, address ->
                coroutineScope {
                    val server =
                        launch {
                            repeat(50) {
                                val request = listener.awaitRequest()
                                launch { request.accept().use { it.awaitEnd() } }
                            }
                        }
                    val connections = List(50) { async { client.connect(address) } }.map { it.await() }
                    connections.map { it.localAddress!!.port }.toSet().size shouldBe 50
                    connections.forEach { it.close() }
                    server.join()
                }
            }
        }
    })
