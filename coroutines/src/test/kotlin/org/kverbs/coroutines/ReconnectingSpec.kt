package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldStartWith
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeout
import org.kverbs.cm.ConnectionException
import org.kverbs.cm.ConnectionRejectedException
import java.net.InetSocketAddress
import java.util.concurrent.atomic.AtomicInteger
import kotlin.random.Random
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TestTimeSource

class ReconnectingSpec :
    FunSpec({
        timeout = 60_000

        test("should continue when the server comes back, however the server ended") {
            rdmaHost { provider("embedded") }.use { host ->
                rdmaHost { provider("embedded") }.use { serving ->
                    logged {
                        coroutineScope {
                            val first = serving.bind(0)
                            val address = InetSocketAddress("127.0.0.1", first.address.port)
                            first.serve(this) {
                                it.send("first ${it.receive().decodeToString()}".encodeToByteArray())
                                awaitCancellation()
                            }
                            val answers = ArrayList<String>()
                            val isAnswered = CompletableDeferred<Unit>()
                            val client =
                                async {
                                    host.reconnecting(
                                        address,
                                        { backOff(1.milliseconds, 50.milliseconds) },
                                    ) { connection ->
                                        for (question in answers.size..2) {
                                            connection.send("$question".encodeToByteArray())
                                            answers += connection.receive().decodeToString()
                                            isAnswered.complete(Unit)
                                        }
                                        "done"
                                    }
                                }
                            isAnswered.await()
                            first.close()
                            val second = serving.bind(address.port)
                            second.serve(
                                this,
                                // one answer each
                            ) { it.send("second ${it.receive().decodeToString()}".encodeToByteArray()) }
                            client.await() shouldBe "done"
                            answers shouldContainExactly listOf("first 0", "second 1", "second 2")
                            second.close()
                        }
                    }
                }
            }
        }

        test("should throw the block's exception, and the last failure when it gives up") {
            rdmaHost { provider("embedded") }.use { host ->
                host.bind(0).use { server ->
                    coroutineScope {
                        server.serve(this) { it.receive() }
                        val address = InetSocketAddress("127.0.0.1", server.address.port)
                        shouldThrow<IllegalStateException> {
                            host.reconnecting(
                                address,
                            ) { error("planted") }
                        }.message shouldBe
                            "planted"
                        server.close()
                        val settings: ClientBuilder.() -> Unit = {
                            backOff(1.milliseconds)
                            giveUpAfter(100.milliseconds)
                        }
                        shouldThrow<ConnectionException> {
                            withTimeout(
                                20.seconds,
                            ) { host.reconnecting(address, settings) {} }
                        }
                    }
                }
            }
        }

        suspend fun bound(
            settings: ServerBuilder.() -> Unit,
            block: suspend CoroutineScope.(RdmaHost, RdmaServer, InetSocketAddress) -> Unit,
        ) = rdmaHost { provider("embedded") }.use { host ->
            host.bind(0, settings).use { server ->
                logged {
                    withTimeout(20.seconds) {
                        block(host, server, InetSocketAddress("127.0.0.1", server.address.port))
                        server.close()
                    }
                }
            }
        }

        test("should end at once when the server's authorize function refuses the client") {
            val decisions = AtomicInteger()
            bound({ authorize { decisions.incrementAndGet() < 0 } }) { host, server, address ->
                server.serve(this) {}
                val refusal =
                    shouldThrow<ConnectionRejectedException> {
                        host.reconnecting(
                            address,
                            { backOff(1.milliseconds) },
                        ) {}
                    }
                refusal.message shouldContain "not authorized"
                decisions.get() shouldBe 1
            }
        }

        test("should try again while the server is full") {
            bound({ maxConnections(1) }) { host, server, address ->
                server.serve(this) { it.receiveOrNull() }
                val first = host.connectMessages(address)
                val client = async { host.reconnecting(address, { backOff(1.milliseconds) }) { it.isOpen } }
                while (server.stats.rejected < 2) delay(1)
                first.disconnect()
                client.await() shouldBe true
            }
        }

        test("should try again when the server's authorize function failed or did not decide in time") {
            val decisions = AtomicInteger()
            bound({
                timeout(4.seconds) // also the time in which the third client must confirm
                authorize {
                    when (decisions.incrementAndGet()) {
                        1 -> awaitCancellation()
                        2 -> error("planted")
                        else -> true
                    }
                }
            }) { host, server, address ->
                server.serve(this) { it.receiveOrNull() }
                host.reconnecting(address, { backOff(1.milliseconds) }) { it.isOpen } shouldBe true
                decisions.get() shouldBe 3
            }
        }

        test("should ask retryIf whether to try again") {
            bound({ authorize { false } }) { host, server, address ->
                server.serve(this) {}
                val failures = ArrayList<Exception>()
                val settings: ClientBuilder.() -> Unit = {
                    backOff(1.milliseconds)
                    retryIf {
                        failures += it
                        failures.size < 3
                    }
                }
                val last = shouldThrow<ConnectionRejectedException> { host.reconnecting(address, settings) {} }
                failures.size shouldBe 3
                failures.last() shouldBe last
            }
        }

        test("should log the server as host and port") {
            rdmaHost { provider("embedded") }.use { host ->
                val port = host.bind(0).use { it.address.port }
                logged { log ->
                    val client = launch { host.reconnecting("127.0.0.1", port, { backOff(1.milliseconds) }) {} }
                    withTimeout(20.seconds) { while (log.lines.none { ":$port failed" in it }) delay(1) }
                    client.cancel()
                    log.lines.first { ":$port failed" in it } shouldStartWith
                        "the connection to 127.0.0.1:$port failed: "
                }
            }
        }

        test("should log the server's reason for a rejection") {
            rdmaHost { provider("embedded") }.use { host ->
                val settings: ServerBuilder.() -> Unit = {
                    maxConnections(1)
                    onFailure {}
                }
                host.bind(0, settings).use { server ->
                    val address = InetSocketAddress("127.0.0.1", server.address.port)
                    logged { log ->
                        coroutineScope {
                            server.serve(this) { it.receiveOrNull() }
                            val first = host.connectMessages(address)
                            val client = launch { host.reconnecting(address, { backOff(1.milliseconds) }) {} }
                            val start = "the connection to 127.0.0.1:${address.port} failed: "
                            withTimeout(20.seconds) { while (log.lines.none { it.startsWith(start) }) delay(1) }
                            log.lines.first { it.startsWith(start) } shouldStartWith
                                start + "the server rejected it: full; "
                            first.close()
                            client.join()
                            server.close()
                        }
                    }
                }
            }
        }

        test(
            "should wait twice as long each time up to the longest pause, and start again after a connection that " +
                "lasted",
        ) {
            val clock = TestTimeSource()
            val backOff = BackOff(100.milliseconds, 1.seconds, Duration.INFINITE, clock, Random(1))

            fun next(expected: Duration) =
                checkNotNull(backOff.pause()).let {
                    (it >= expected / 2 && it <= expected) shouldBe
                        true
                }
            for (millis in listOf(100, 200, 400, 800, 1000, 1000)) next(millis.milliseconds)
            backOff.connected()
            next(1.seconds) // lost at once
            backOff.connected()
            clock += 2.seconds
            next(100.milliseconds)
            next(200.milliseconds)
        }

        test("should give up after the given time without a connection") {
            val clock = TestTimeSource()
            val backOff = BackOff(100.milliseconds, 1.seconds, 5.seconds, clock)
            (backOff.pause()!! in 50.milliseconds..100.milliseconds) shouldBe true
            clock += 4.seconds
            backOff.connected()
            clock += 10.seconds
            backOff.pause()
            clock += 4.seconds
            backOff.pause()
            clock += 1.seconds
            backOff.pause() shouldBe null
        }
    })
