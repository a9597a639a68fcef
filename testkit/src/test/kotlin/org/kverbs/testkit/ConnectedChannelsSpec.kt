package org.kverbs.testkit

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.comparables.shouldBeGreaterThan
import io.kotest.matchers.comparables.shouldBeLessThan
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.async
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import org.kverbs.RdmaSystemException
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionOpcode.SEND
import org.kverbs.WorkCompletionStatus.RETRY_EXC_ERR
import org.kverbs.cm.ConnectionException
import org.kverbs.coroutines.MessageChannel
import org.kverbs.dsl.memoryRegion
import org.kverbs.embedded.DeviceLimits
import org.kverbs.embedded.Errno.ENOMEM
import org.kverbs.embedded.Faults
import org.kverbs.embedded.Operation.REGISTER_MEMORY
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds
import java.time.Duration as JavaDuration

class ConnectedChannelsSpec :
    FunSpec({
        // Taken from docs/testing.md.
        test("should answer, and say no more than that") {
            connectedChannels { client, server ->
                backgroundScope.launch { answer(server) } // what is tested: a suspend function on a MessageChannel
                client.send("ping".encodeToByteArray())
                client.awaitMessage().decodeToString() shouldBe "gnip"
                client.expectNoMessage()
            }
        }

        test(
            "should carry messages of all sizes both ways over a bad line, the same in each run with the same seed",
        ) {
            fun trace(seed: Long): JavaDuration {
                var time = JavaDuration.ZERO
                connectedChannels(Faults.BAD_LINE, seed) { client, server ->
                    backgroundScope.launch { answer(server) }
                    for (size in listOf(0, 1, 1000, 10_000, 300_000)) {
                        val message = ByteArray(size) { (it * 7).toByte() }
                        val answer = async { client.awaitMessage(1.hours) }
                        client.send(message)
                        answer.await() shouldBe message.reversedArray()
                    }
                    fabric.faultsInjected() shouldBeGreaterThan 0
                    time = clock.elapsed()
                }
                return time
            }
            trace(1) shouldBe trace(1)
        }

        test("should take the settings of the channels") {
            connectedChannels(channel = { maxMessageSize(10_000) }) { client, server ->
                shouldThrow<IllegalArgumentException> { client.send(ByteArray(10_001)) }
                launch { server.send(ByteArray(10_000)) }
                client.awaitMessage().size shouldBe 10_000
            }
        }

        test("should tell the time in which no message came, and not take a later one") {
            connectedChannels { client, server ->
                launch {
                    delay(90.seconds)
                    server.send("late".encodeToByteArray())
                }
                shouldThrow<AssertionError> { client.awaitMessage(1.minutes) }.message shouldContain
                    "no message arrived at the message channel"
                clock.elapsed() shouldBe JavaDuration.ofMinutes(1)
                client.awaitMessage(1.minutes).decodeToString() shouldBe "late"
            }
        }

        test("should find by the keep-alive that the peer is dead, on the test's clock") {
            connectedChannels(timeout = 5.seconds, channel = { keepAlive(3.hours) }) { client, _ ->
                fabric.kill(serverDevice)
                shouldThrow<ConnectionException> { client.receive() }
                clock.elapsed().toHours() shouldBe 3
            }
        }

        test("should show an unexpected message") {
            connectedChannels { client, server ->
                server.send("surprise".encodeToByteArray())
                shouldThrow<AssertionError> { client.expectNoMessage() }.message shouldContain
                    "one of 8 bytes did: \"surprise\""
                server.send(byteArrayOf(0, -1, 16))
                shouldThrow<AssertionError> { client.expectNoMessage() }.message shouldContain
                    "one of 3 bytes did: 00ff10"
            }
        }

        test("should say why no message can arrive any more") {
            connectedChannels { client, server ->
                server.finish()
                shouldThrow<AssertionError> { client.awaitMessage() }.message shouldContain "its peer has finished"
            }
            connectedChannels { client, _ ->
                fabric.kill(serverDevice)
                launch { runCatching { client.send(ByteArray(8)) } }
                val failure = shouldThrow<AssertionError> { client.awaitMessage(1.hours) }
                failure.message shouldContain "no message can arrive at the message channel"
                (failure.cause as WorkCompletionException).status() shouldBe RETRY_EXC_ERR
            }
        }

        test("should inject a failure with one line") {
            connectedChannels { client, _ ->
                fabric.failNext(SEND, RETRY_EXC_ERR, on = clientDevice)
                client.send(ByteArray(8))
                shouldThrow<AssertionError> { client.awaitMessage() }.message shouldContain "RETRY_EXC_ERR"
            }
            connectedChannels { client, _ ->
                fabric.failNext(REGISTER_MEMORY, ENOMEM, on = clientDevice)
                shouldThrow<RdmaSystemException> { client.pd().memoryRegion(64) }.errnoName() shouldBe "ENOMEM"
            }
            shouldThrow<RdmaSystemException> {
                connectedChannels(
                    limits = DeviceLimits.DEFAULTS.queuePairs(0),
                ) { _, _ -> }
            }.message shouldContain "max_qp"
        }

        test("should name the resources that a test left open") {
            shouldThrow<AssertionError> { connectedChannels { client, _ -> forget(client) } }.message.let {
                it shouldContain "1 resource is still open"
                it shouldContain
                    "was opened\n    at org.kverbs.testkit.ConnectedChannelsSpecKt.forget(ConnectedChannelsSpec.kt:"
            }
        }

        test("should accept a test that closes a channel itself, even twice") {
            connectedChannels { client, server ->
                repeat(2) { client.close() }
                shouldThrow<AssertionError> { server.awaitMessage() }.message shouldContain "no message can arrive"
            }
        }

        test("should take no real time for hours of the channels") {
            val start = System.nanoTime()
            connectedChannels { client, server ->
                launch {
                    delay(100.hours)
                    client.send(ByteArray(1))
                }
                server.awaitMessage(101.hours).size shouldBe 1
                clock.elapsed() shouldBeGreaterThan JavaDuration.ofHours(99)
            }
            JavaDuration.ofNanos(System.nanoTime() - start) shouldBeLessThan JavaDuration.ofHours(1)
        }
    })

private suspend fun answer(channel: MessageChannel) {
    for (message in channel.incoming) channel.send(message.reversedArray())
}

private fun MessageChannel.pd() = queuePair.queuePair.protectionDomain()

private fun forget(channel: MessageChannel) = channel.pd().memoryRegion(64)
