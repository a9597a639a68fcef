package org.kverbs.testkit

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.comparables.shouldBeGreaterThan
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.async
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import org.kverbs.Context
import org.kverbs.Diagnostics
import org.kverbs.MemoryRegion
import org.kverbs.cm.ConnectionException
import org.kverbs.cm.ConnectionRejectedException
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.bind
import org.kverbs.coroutines.connectMessages
import org.kverbs.dsl.openDevice
import org.kverbs.embedded.Errno.ENOMEM
import org.kverbs.embedded.Faults
import org.kverbs.embedded.Operation.POST_RECEIVE
import kotlin.random.Random
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.seconds
import java.time.Duration as JavaDuration

/** Tests a service and its client in one test. */
class ConnectedHostsSpec :
    FunSpec({
        // Taken from docs/testing.md.
        test("should answer over the network") {
            connectedHosts { client, server ->
                server.bind(serverAddress(7471)).serve(backgroundScope) { answer(it) } // what is tested
                val connection = client.connectMessages(serverAddress(7471))
                connection.send("ping".encodeToByteArray())
                connection.awaitMessage().decodeToString() shouldBe "gnip"
                connection.expectNoMessage()
            }
        }

        test("should answer over a bad line, the same in each run with the same seed") {
            fun trace(seed: Long): Any? {
                var trace: Any? = null
                connectedHosts(Faults.BAD_LINE, seed) { client, server ->
                    server.bind(serverAddress(7471)).serve(backgroundScope) { answer(it) }
                    val connection = client.connectMessages(serverAddress(7471))
                    repeat(20) {
                        val message = Random(it).nextBytes(it * 500)
                        launch { connection.send(message) }
                        connection.awaitMessage(1.hours) shouldBe message.reversedArray()
                    }
                    fabric.faultsInjected() shouldBeGreaterThan 0
                    trace = fabric.faultsInjected() to clock.elapsed()
                }
                return trace
            }
            trace(1) shouldBe trace(1)
        }

        test("should register no more memory for a server whose device has refused a receive") {
            fun registered(refused: Boolean): Long {
                var bytes = 0L
                connectedHosts { client, server ->
                    server.bind(serverAddress(7471)).serve(backgroundScope) { answer(it) }
                    if (refused) {
                        fabric.failNext(POST_RECEIVE, ENOMEM, nth = 5, on = serverDevice)
                        shouldThrow<ConnectionException> { client.connectMessages(serverAddress(7471)) }
                    }
                    client.connectMessages(serverAddress(7471)).close()
                    bytes =
                        Diagnostics
                            .openResources()
                            .map { it.resource() }
                            .filterIsInstance<MemoryRegion>()
                            .filter { it.protectionDomain().context().device().name() == serverDevice.name() }
                            .sumOf { it.length() }
                }
                return bytes
            }
            registered(refused = true) shouldBe registered(refused = false)
        }

        test("should run the handlers on the test's clock and thread, and several clients at a time") {
            val thread = Thread.currentThread()
            connectedHosts { client, server ->
                server.bind(serverAddress(7471)).serve(backgroundScope) { connection ->
                    for (message in connection.incoming) {
                        delay(message[0].toInt().hours)
                        Thread.currentThread() shouldBe thread
                        connection.send(message)
                    }
                }
                val answers = mutableListOf<Byte>()
                for (wait in listOf<Byte>(3, 1, 2)) {
                    launch {
                        val connection = client.connectMessages(serverAddress(7471))
                        connection.send(byteArrayOf(wait))
                        answers += connection.awaitMessage(4.hours).single()
                    }
                }
                while (answers.size < 3) delay(1.seconds)
                answers shouldContainExactly listOf<Byte>(1, 2, 3)
                clock.elapsed().toHours() shouldBe 3
            }
        }

        test("should connect to a numeric address without a look-up, which takes real time") {
            connectedHosts { client, server ->
                server.bind(serverAddress(7471)).serve(backgroundScope) { answer(it) }
                client.connectMessages(serverAddress(7471).address.hostAddress, 7471).send(ByteArray(1))
            }
        }

        test("should tell the server's failures to the server, and those of the test to the test") {
            val told = mutableListOf<String?>()
            connectedHosts { client, server ->
                server.bind(serverAddress(7471)) { onFailure { told += it.message } }.serve(backgroundScope) {
                    it.receive()
                    error("the handler's own")
                }
                val connection = client.connectMessages(serverAddress(7471))
                connection.send(ByteArray(1))
                connection.awaitEnd()
            }
            told shouldContainExactly listOf("the handler's own")
            shouldThrow<IllegalStateException> {
                connectedHosts { client, server ->
                    backgroundScope.launch {
                        server.listen(serverAddress(7471)).awaitRequest()
                        error("the service's own")
                    }
                    client.connectMessages(serverAddress(7471))
                }
            }.message shouldBe "the service's own"
        }

        test("should fail with an assertion that failed in a handler, even if its client does not notice") {
            shouldThrow<AssertionError> {
                connectedHosts { client, server ->
                    val service = server.bind(serverAddress(7471)) { onFailure { } }
                    service.serve(backgroundScope) { it.receive().decodeToString() shouldBe "pong" }
                    client.connectMessages(serverAddress(7471)).send("ping".encodeToByteArray())
                    delay(1.seconds)
                }
            }.message shouldContain "ping"
        }

        test("should reject a client without a listener or above the limit, and time out without an answer") {
            connectedHosts { client, server ->
                shouldThrow<ConnectionRejectedException> { client.connectMessages(serverAddress(7471)) }
                server
                    .bind(serverAddress(7471)) {
                        maxConnections(1)
                        onFailure { }
                    }.serve(backgroundScope) { answer(it) }
                client.connectMessages(serverAddress(7471))
                shouldThrow<ConnectionRejectedException> { client.connectMessages(serverAddress(7471)) }
                server.listen(serverAddress(7472)) // it accepts no client
                shouldThrow<ConnectionException> { client.connectMessages(serverAddress(7472)) { timeout(2.hours) } }
                clock.elapsed() shouldBeGreaterThan JavaDuration.ofSeconds(1)
            }
        }

        test("should find a dead server in no time") {
            connectedHosts { client, server ->
                server.bind(serverAddress(7471)).serve(backgroundScope) { answer(it) }
                val connection = client.connectMessages(serverAddress(7471))
                fabric.kill(serverDevice)
                connection.send("anybody?".encodeToByteArray())
                shouldThrow<AssertionError> { connection.awaitMessage(1.hours) }.message shouldContain
                    "no message can arrive"
            }
        }

        test("should find by the keep-alive that a client is dead, on the test's clock") {
            val told = mutableListOf<Throwable>()
            connectedHosts(timeout = 5.seconds) { client, server ->
                val bound =
                    server.bind(serverAddress(7471)) {
                        keepAlive(3.hours)
                        onFailure { told += it }
                    }
                bound.serve(backgroundScope) { it.receive() }
                client.connectMessages(serverAddress(7471)) { channel { keepAlive(null) } }
                while (bound.connections.isEmpty()) delay(1.seconds)
                fabric.kill(clientDevice)
                while (told.isEmpty()) delay(1.hours)
                clock.elapsed().toHours() shouldBe 4
            }
            told.single().shouldBeInstanceOf<ConnectionException>().message shouldContain
                "the peer did not answer the keep-alive: nothing came from it for 3h"
        }

        test("should let a test close a host itself") {
            connectedHosts { client, server ->
                val connecting = async { runCatching { client.connectMessages(serverAddress(7471)) } }
                server.listen(serverAddress(7471)).awaitRequest()
                repeat(2) { server.close() }
                connecting.await().isFailure shouldBe true
            }
        }

        test("should end a block that waits for ever") {
            shouldThrow<AssertionError> {
                connectedHosts(timeout = 5.seconds) { client, server ->
                    server.bind(serverAddress(7471)).serve(backgroundScope) { answer(it) }
                    client.connectMessages(serverAddress(7471)).receive()
                }
            }.message shouldContain "it waits for something that does not happen"
        }

        test("should name the resources that the block left open, without those of the hosts") {
            var leaked: Context? = null
            shouldThrow<AssertionError> { connectedHosts { _, _ -> leaked = openDevice("embedded0") } }
                .message shouldContain "1 resource is still open"
            leaked?.close()
        }
    })

private suspend fun answer(connection: MessageConnection) {
    for (message in connection.incoming) connection.send(message.reversedArray())
}
