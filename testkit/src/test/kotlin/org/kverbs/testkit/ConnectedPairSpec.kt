package org.kverbs.testkit

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.comparables.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.Context
import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.REM_INV_REQ_ERR
import org.kverbs.WorkCompletionStatus.RETRY_EXC_ERR
import org.kverbs.WorkCompletionStatus.RNR_RETRY_EXC_ERR
import org.kverbs.attributes.ConnectOptions
import org.kverbs.dsl.get
import org.kverbs.dsl.post
import org.kverbs.dsl.write
import org.kverbs.dsl.writeWithImmediate
import org.kverbs.embedded.Faults
import java.time.Duration
import kotlin.time.Duration.Companion.ZERO

class ConnectedPairSpec :
    FunSpec({
        test("should carry a message to the other end") {
            connectedPair { client, server ->
                server.postReceive(64)
                client.send("ping".encodeToByteArray())
                server.awaitReceive() shouldHaveText "ping"
                client.awaitSend().shouldBeSuccessful()
            }
        }

        // Taken from docs/testing.md.
        test("should bring the message over a bad line") {
            connectedPair(Faults.BAD_LINE) { client, server ->
                server.postReceive(64)
                client.send("ping".encodeToByteArray())
                server.awaitReceive() shouldHaveText "ping"
                client.awaitSend().shouldBeSuccessful()
            }
        }

        test("should carry messages both ways over a bad line, in order") {
            connectedPair(
                Faults.BAD_LINE,
                seed = 3,
                options = ConnectOptions.builder().timeout(10).build(),
            ) { client, server ->
                val messages = List(50) { ByteArray(it * 100) { i -> (i + it).toByte() } }
                for ((from, to) in listOf(client to server, server to client)) {
                    messages.forEach { _ -> to.postReceive(8192) }
                    messages.forEach { from.send(it) }
                    messages.forEach { to.awaitReceive() shouldHaveBytes it }
                    messages.forEach { _ -> from.awaitSend().shouldBeSuccessful() }
                }
                (fabric.faultsInjected() > 0) shouldBe true
            }
        }

        test("should let a test await a long retry without real time") {
            connectedPair(options = ConnectOptions.builder().timeout(20).retryCount(7).build()) { client, server ->
                val (here, there) = fabric.devices()
                fabric.partition(here, there)
                client.send(ByteArray(8))
                client.awaitSend() shouldHaveFailedWith RETRY_EXC_ERR
                clock.elapsed() shouldBeGreaterThan Duration.ofSeconds(30)
                server.qp.isOpen shouldBe true
            }
        }

        test("should await a request that the test posted itself, whatever its id") {
            connectedPair { client, server ->
                for (id in listOf(0L, 1L, 7L, -1L)) {
                    client.qp.post { write(client.memory[0, 8], server.memory.remote(), id = id).signaled() }
                    client.awaitSend().shouldBeSuccessful().workRequestId() shouldBe id
                }
            }
        }

        test("should show a failed receive, and the peer's mistake") {
            val impatient = ConnectOptions.builder().rnrRetry(1).build()
            connectedPair(options = impatient) { client, _ ->
                client.send(ByteArray(8))
                client.awaitSend() shouldHaveFailedWith RNR_RETRY_EXC_ERR
            }
            connectedPair { client, server ->
                val last = server.memory.remote().at(server.memory.length() - 4)
                client.qp.post { write(client.memory[0, 8], RemoteMemory(last.address, 8, last.rkey)).signaled() }
                client.awaitSend() shouldHaveFailedWith REM_ACCESS_ERR
            }
        }

        test("should report a write with immediate without bytes, which lie in the memory that the peer named") {
            connectedPair { client, server ->
                for (length in listOf(1L, 64L)) {
                    server.postReceive(1)
                    client.qp.post {
                        writeWithImmediate(client.memory[0, length], server.memory.remote(), immediate = 7).signaled()
                    }
                    val received = server.awaitReceive()
                    received.bytes.size shouldBe 0
                    received.completion.immediate() shouldBe 7
                    received.completion.byteLength() shouldBe length
                }
            }
        }

        test("should tell that a receive failed when no message should arrive") {
            connectedPair { client, server ->
                server.postReceive(2)
                client.send(ByteArray(8))
                val failure = shouldThrow<AssertionError> { server.expectNoMessage() }
                failure.message shouldContain "a receive on ${server.qp.describe()} failed"
                failure.message shouldContain "LOC_LEN_ERR"
                client.awaitSend() shouldHaveFailedWith REM_INV_REQ_ERR
            }
        }

        test("should name the resources that a test left open and where it opened them") {
            var leaked: AutoCloseable? = null
            val failure =
                shouldThrow<AssertionError> {
                    connectedPair { client, _ -> leaked = forgetful(client.context) }
                }
            failure.message shouldContain "1 resource is still open"
            failure.message shouldContain "completion queue"
            failure.message shouldContain "forgetful"
            failure.message shouldContain "ConnectedPairSpec.kt"
            leaked?.close()
        }

        test("should accept a block that closes its resources, and return its result") {
            connectedPair { client, _ ->
                leakCheck { client.context.completionQueue(1).use { it.entries() } } shouldBe 1
            }
        }

        test("should show the expected and the actual message") {
            connectedPair { client, server ->
                server.postReceive(64)
                client.send("ping".encodeToByteArray())
                shouldThrow<AssertionError> { server.awaitReceive() shouldHaveText "pong" }.message shouldContain "ping"
                shouldThrow<AssertionError> {
                    client.awaitSend() shouldHaveFailedWith RETRY_EXC_ERR
                }.message shouldContain
                    "SUCCESS"
                shouldThrow<AssertionError> { server.awaitReceive(ZERO) }.message shouldContain
                    "no completion of a receive"
            }
        }
    })

private fun forgetful(context: Context): AutoCloseable = context.completionQueue(1)
