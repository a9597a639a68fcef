package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldEndWith
import io.kotest.matchers.string.shouldStartWith
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.yield
import org.kverbs.RdmaException
import org.kverbs.attributes.AccessFlag
import org.kverbs.cm.ConnectionException
import org.kverbs.cm.ConnectionRejectedException
import org.kverbs.cm.ConnectionStep
import java.net.InetSocketAddress
import java.util.Collections
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

class MessageServicesSpec :
    FunSpec({
        timeout = 120_000

        suspend fun served(
            onFailure: (Throwable) -> Unit = {},
            handler: suspend CoroutineScope.(MessageConnection) -> Unit,
            block: suspend (RdmaHost, InetSocketAddress) -> Unit,
        ) = coroutineScope {
            rdmaHost { provider("embedded") }.use { host ->
                host.bind(0) { onFailure(onFailure) }.use { server ->
                    server.serve(this, handler)
                    rdmaHost {
                        provider(
                            "embedded",
                        )
                    }.use { block(it, InetSocketAddress("127.0.0.1", server.address.port)) }
                }
            }
        }

        test("should echo messages, short and long") {
            served(handler = { for (message in it.incoming) it.send(message) }) { host, address ->
                val connection = host.connectMessages(address)
                for (size in listOf(0, 1, 4088, 4089, 100_000, 3_000_000)) {
                    val message = ByteArray(size) { (it * 31 + size).toByte() }
                    coroutineScope {
                        launch { connection.send(message) }
                        connection.receive().contentEquals(message) shouldBe true
                    }
                }
                connection.disconnect()
            }
        }

        test("should serve 200 clients at once") {
            served(handler = { for (message in it.incoming) it.send(message) }) { host, address ->
                val answers =
                    coroutineScope {
                        List(200) { client ->
                            async {
                                val connection = host.connectMessages(address)
                                val answers =
                                    List(10) {
                                        connection.send("$client:$it".encodeToByteArray())
                                        connection.receive().decodeToString()
                                    }
                                connection.disconnect()
                                answers shouldBe List(10) { "$client:$it" }
                            }
                        }.awaitAll()
                    }
                answers shouldHaveSize 200
            }
        }

        test("should report a handler's exception and keep serving") {
            val failures = Collections.synchronizedList(ArrayList<Throwable>())
            served(
                onFailure = failures::add,
                handler = {
                    val message = it.receive().decodeToString()
                    check(message != "fail") { "asked to" }
                    it.send("fine".encodeToByteArray())
                },
            ) { host, address ->
                val bad = host.connectMessages(address)
                bad.send("fail".encodeToByteArray())
                shouldThrow<Exception> { bad.receive() }
                bad.close()
                val good = host.connectMessages(address)
                good.send("work".encodeToByteArray())
                good.receive().decodeToString() shouldBe "fine"
                good.disconnect()
                // The server closes the connection before it reports why.
                withTimeout(20.seconds) { while (failures.isEmpty()) delay(1) }
                failures.map { it.message } shouldBe listOf("asked to")
            }
        }

        test("should fail a disconnect if the peer has not taken all messages in time") {
            served(handler = { awaitCancellation() }) { host, address ->
                val connection = host.connectMessages(address)
                repeat(3) { connection.send(ByteArray(3_000_000)) } // the peer takes one of them
                shouldThrow<ConnectionException> { connection.disconnect(50.milliseconds) }.message shouldContain
                    "had not taken all messages within 50ms"
                connection.isOpen shouldBe false
            }
        }

        test("should refuse private data that is too long for a request, and name the limit") {
            served(handler = {}) { host, address ->
                shouldThrow<IllegalArgumentException> {
                    host.connectMessages(address) { privateData(ByteArray(33)) }
                }.message shouldContain
                    "at most 32"
                host.connectMessages(address) { privateData(ByteArray(32)) }.close()
            }
        }

        test("should not let a handler's exception look like an orderly end") {
            served(handler = { connection ->
                repeat(3) { connection.send(byteArrayOf(it.toByte())) }
                connection.receive() // all messages have arrived
                error("after 3 of 10")
            }) { host, address ->
                val connection = host.connectMessages(address)
                var count = 0
                shouldThrow<RdmaException> {
                    for (message in connection.incoming) if (++count == 3) connection.send(message)
                }
                count shouldBe 3
                connection.close()
            }
        }

        test("should not report the end of an open connection as a failed connect") {
            val ended = CompletableDeferred<Throwable?>()
            served(handler = {
                it.send(it.receive())
                ended.complete(runCatching { it.receive() }.exceptionOrNull())
            }) { _, address ->
                val peer = rdmaHost { provider("embedded") }
                val connection = peer.connectMessages(address)
                connection.send("work".encodeToByteArray())
                connection.receive().decodeToString() shouldBe "work"
                val from = connection.channel.queuePair
                peer.close()
                from.queuePair.isOpen shouldBe false
                val cause = ended.await().shouldBeInstanceOf<ConnectionException>()
                cause.step() shouldBe ConnectionStep.STAY_CONNECTED
                cause.message shouldStartWith "staying connected to 127.0.0.1:"
                cause.message shouldEndWith " failed: the connection has ended"
            }
        }

        test("should end all waits when the peer's host is gone") {
            val ended = CompletableDeferred<Throwable?>()
            served(handler = { ended.complete(runCatching { it.receive() }.exceptionOrNull()) }) { _, address ->
                val gone = rdmaHost { provider("embedded") }
                gone.connectMessages(address)
                gone.close()
                val cause = ended.await()
                withClue(cause) { (cause is ConnectionException || cause is ChannelClosedException) shouldBe true }
            }
        }

        test("should let a client read, write and count in published memory") {
            served(handler = {
                val region =
                    it.pd.memoryRegion(
                        64,
                        AccessFlag.LOCAL_WRITE,
                        AccessFlag.REMOTE_READ,
                        AccessFlag.REMOTE_WRITE,
                        AccessFlag.REMOTE_ATOMIC,
                    )
                it.publish("counter", region)
                for (message in it.incoming) it.send(message)
                region.close()
            }) { host, address ->
                val connection = host.connectMessages(address)
                val counter = connection.awaitRemote("counter")
                coroutineScope { List(20) { async { counter.fetchAndAdd(0, 5) } }.awaitAll() }.sorted() shouldBe
                    List(20) { it * 5L }
                counter.readLong(0) shouldBe 100
                counter.write("text".encodeToByteArray(), 8)
                counter.read(8, 4).decodeToString() shouldBe "text"
                connection.disconnect()
            }
        }

        test("should refuse a client that does not use the message protocol") {
            served(handler = {}) { host, address ->
                shouldThrow<ConnectionRejectedException> { host.connect(address) }
            }
        }

        test("should pass a handler's exception to onFailure of rdmaServer") {
            coroutineScope {
                val listening = CompletableDeferred<InetSocketAddress>()
                val failed = CompletableDeferred<Throwable>()
                val server =
                    launch {
                        rdmaServer(
                            0,
                            "embedded0",
                            { onFailure(failed::complete) },
                            listening::complete,
                        ) { error("planted") }
                    }
                runCatching { rdmaClient("127.0.0.1", listening.await().port, "embedded0") { it.receive() } }
                withTimeout(20.seconds) { failed.await() }.message shouldBe "planted"
                server.cancelAndJoin()
            }
        }

        test("should serve IPv4 and IPv6 at every address with rdmaServer") {
            coroutineScope {
                val listening = CompletableDeferred<InetSocketAddress>()
                val server =
                    launch {
                        rdmaServer(
                            0,
                            "embedded0",
                            onListening = listening::complete,
                        ) { for (message in it.incoming) it.send(message) }
                    }
                for (host in listOf("127.0.0.1", "::1", "198.18.0.1")) {
                    rdmaClient(host, listening.await().port, "embedded0") {
                        it.send(host.encodeToByteArray())
                        it.receive().decodeToString() shouldBe host
                    }
                }
                server.cancel()
            }
        }

        test("should try each address of a host name until a server answers") {
            rdmaHost { provider("embedded") }.use { host ->
                host.bind(InetSocketAddress("198.18.0.1", 0)).use { server ->
                    coroutineScope {
                        server.serve(this) { it.send(ByteArray(7)) }
                        host.connectMessages(SlowNames.MANY, server.address.port).use { it.receive().size shouldBe 7 }
                        server.close()
                        val failure =
                            shouldThrow<ConnectionException> { host.connect(SlowNames.MANY, server.address.port) }
                        val tried =
                            (failure.suppressed.toList() + failure).map {
                                (it as ConnectionException)
                                    .address()
                                    ?.address
                                    ?.hostAddress
                            }
                        tried shouldBe listOf("192.0.2.1", "198.18.0.2", "198.18.0.1")
                    }
                }
            }
        }

        test(
            "should report an unknown host name and the failed step, without blocking the thread",
        ) {
            // All coroutines here run on this thread: a lookup that blocks it would be over before the test goes on.
            runBlocking {
                val client = launch { rdmaClient(SlowNames.HOST, 7471, "embedded0") {} }
                withTimeout(20.seconds) { while (SlowNames.asked.count > 0) delay(1) }
                client.cancelAndJoin()
                SlowNames.answered.count shouldBe 1
                val failing = async { runCatching { rdmaClient(SlowNames.HOST, 7471, "embedded0") {} } }
                yield()
                SlowNames.letGo.countDown()
                val failure = failing.await().exceptionOrNull().shouldBeInstanceOf<ConnectionException>()
                failure.step() shouldBe ConnectionStep.RESOLVE_ADDRESS
                failure.message shouldContain "slow.test:7471 failed: no host has this name"
            }
        }
    })
