package org.kverbs.testkit

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.RdmaSystemException
import org.kverbs.WorkCompletionStatus.RETRY_EXC_ERR
import org.kverbs.embedded.DeviceLimits
import java.io.File
import java.time.Duration
import kotlin.time.Duration.Companion.seconds

/** Checks that failures name the mistake of the test's author. */
class AnswersSpec :
    FunSpec({
        val ping = "ping".encodeToByteArray()

        test("should name a failed send that the test did not await") {
            val failure =
                shouldThrow<AssertionError> {
                    connectedPair { client, _ ->
                        fabric.kill(serverDevice)
                        client.send(ping)
                        clock.advance(Duration.ofMinutes(1))
                    }
                }
            failure.message shouldContain
                "a work request of the client failed, and the block ended without client.awaitSend()"
            failure.message shouldContain "RETRY_EXC_ERR"
        }

        test("should name a failed receive that the test did not await") {
            shouldThrow<AssertionError> {
                connectedPair { client, server ->
                    server.postReceive(2)
                    client.send(ping)
                    client.awaitSend() // the result does not matter here
                }
            }.message shouldContain "the block ended without server.awaitReceive()"
        }

        test("should ask for a receive where a message is awaited without one") {
            connectedPair { client, server ->
                shouldThrow<AssertionError> { server.awaitReceive(1.seconds) }.message shouldContain
                    "no receive is posted: call postReceive first"
                shouldThrow<AssertionError> { server.expectNoMessage() }.message shouldContain "call postReceive first"
                client.qp.isOpen shouldBe true
            }
        }

        test("should accept a test that closes an end's parts itself, even twice") {
            connectedPair { client, server ->
                repeat(2) { client.qp.close() }
                repeat(2) { server.close() }
            }
            connectedCoroutines { client, server ->
                repeat(2) { client.pool.close() }
                repeat(2) { client.qp.close() }
                repeat(2) { server.close() }
            }
        }

        test("should leave nothing open when an end can't be made") {
            val limits = DeviceLimits.DEFAULTS.lockedBytes(4096)
            leakCheck {
                shouldThrow<RdmaSystemException> { connectedPair(limits = limits) { _, _ -> } }
                shouldThrow<RdmaSystemException> { connectedCoroutines(limits = limits) { _, _ -> } }
                shouldThrow<RdmaSystemException> { connectedChannels(limits = limits) { _, _ -> } }
                shouldThrow<IllegalStateException> { connectedChannels(channel = { error("its own") }) { _, _ -> } }
            }
        }

        test("should return nothing, since JUnit skips test functions that return a value") {
            val fixtures =
                listOf("Testkit", "ConnectedCoroutinesKt", "ConnectedChannelsKt", "ConnectedHostsKt")
                    .flatMap { Class.forName("org.kverbs.testkit.$it").methods.asList() }
                    .filter { it.name.startsWith("connected") }
            fixtures.map { it.name.substringBefore("-").substringBefore("$") }.toSet() shouldBe
                setOf("connectedPair", "connectedCoroutines", "connectedChannels", "connectedHosts")
            fixtures.map { it.returnType.name }.toSet() shouldBe setOf("void")
        }

        test("should keep the block's exception, and not check for more") {
            val failure =
                shouldThrow<AssertionError> {
                    connectedPair { client, _ ->
                        fabric.kill(serverDevice)
                        client.send(ping)
                        client.awaitSend().shouldBeSuccessful()
                    }
                }
            failure.message shouldContain "should have status SUCCESS"
        }

        test("should name the message and its fault") {
            connectedPair { client, server ->
                repeat(2) { server.postReceive(64) }
                repeat(2) { client.send(ping) }
                shouldThrow<AssertionError> { server.awaitReceive() shouldHaveText "pong" }.message shouldContain
                    "should be \"pong\", and is \"ping\""
                shouldThrow<AssertionError> { server.awaitReceive() shouldHaveBytes ByteArray(4) }.message shouldContain
                    "byte 0 is 112 instead of 0"
                fabric.kill(serverDevice)
                client.send(ping)
                repeat(2) { client.awaitSend().shouldBeSuccessful() }
                client.awaitSend() shouldHaveFailedWith RETRY_EXC_ERR
            }
        }

        test("should need no test framework") {
            val classes = File(LeakWatch::class.java.protectionDomain.codeSource.location.toURI())
            val names = listOf("kotest", "org/junit", "opentest4j")
            classes
                .walkTopDown()
                .filter { it.extension == "class" && names.any { name -> name in it.readText(Charsets.ISO_8859_1) } }
                .map { it.name }
                .toList() shouldBe emptyList()
        }
    })
