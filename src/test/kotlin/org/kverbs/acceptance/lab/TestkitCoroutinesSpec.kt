package org.kverbs.acceptance.lab

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.CoroutineStart.UNDISPATCHED
import kotlinx.coroutines.TimeoutCancellationException
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeout
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionStatus.RETRY_EXC_ERR
import org.kverbs.coroutines.bind
import org.kverbs.coroutines.connectMessages
import org.kverbs.coroutines.fetchAndAdd
import org.kverbs.dsl.connectOptions
import org.kverbs.embedded.Faults
import org.kverbs.testkit.CoroutinePeer
import org.kverbs.testkit.TEST_DEVICE
import org.kverbs.testkit.awaitMessage
import org.kverbs.testkit.connectedChannels
import org.kverbs.testkit.connectedCoroutines
import org.kverbs.testkit.connectedHosts
import org.kverbs.testkit.expectNoMessage
import java.lang.foreign.ValueLayout.JAVA_LONG
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

/** Runs the testkit's coroutines on a real device: the lane sets the environment variable that names it. */
internal class TestkitCoroutinesSpec :
    FunSpec({
        val device = System.getenv(TEST_DEVICE)

        test("should run coroutines on two ends on the device that $TEST_DEVICE names") {
            connectedCoroutines(timeout = 60.seconds) { client, server ->
                isEmbedded shouldBe false
                listOf(client, server).map { it.context.device().name() } shouldBe listOf(device, device)
                launch { repeat(50) { server.send(server.receive(20_000).reversedArray()) } }
                repeat(50) {
                    val message = ByteArray(it * 400) { i -> (i * 7 + it).toByte() }
                    val answer = async(start = UNDISPATCHED) { client.receive(20_000) }
                    client.send(message)
                    answer.await() shouldBe message.reversedArray()
                }
                server.memory.memory().set(JAVA_LONG, 0, 40)
                client.qp.fetchAndAdd(server.memory.remote(), 2) shouldBe 40
            }
        }

        test("should connect message channels and hosts on the device that $TEST_DEVICE names") {
            connectedChannels(timeout = 60.seconds) { client, server ->
                backgroundScope.launch { for (message in server.incoming) server.send(message.reversedArray()) }
                client.send("ping".encodeToByteArray())
                client.awaitMessage().decodeToString() shouldBe "gnip"
                client.expectNoMessage(50.milliseconds)
            }
            connectedHosts(timeout = 60.seconds) { client, server ->
                val service = server.bind(serverAddress(0))
                service.serve(backgroundScope) { for (message in it.incoming) it.send(message.reversedArray()) }
                val connection = client.connectMessages(serverAddress(service.address.port))
                connection.send("ping".encodeToByteArray())
                connection.awaitMessage().decodeToString() shouldBe "gnip"
            }
        }

        test("should end waits for a peer that has gone, and waits that are cancelled or time out") {
            connectedCoroutines(options = connectOptions { timeout(12).retryCount(2) }) { client, server ->
                shouldThrow<TimeoutCancellationException> { withTimeout(20.milliseconds) { client.receive(8) } }
                launch(start = UNDISPATCHED) { server.receive(8) }.cancelAndJoin()
                client.send("taken".encodeToByteArray()) // by the receive that the test does not await
                server.receive(8).decodeToString() shouldBe "taken"
                server.qp.close()
                shouldThrow<WorkCompletionException> { client.send(ByteArray(8)) }.status() shouldBe RETRY_EXC_ERR
            }
        }

        test("should name the resources that were left open, and the device that has no faults and no clock") {
            val leak = shouldThrow<AssertionError> { connectedCoroutines { client, _ -> forget(client) } }
            leak.message shouldContain "1 buffers of the buffer pool on $device weren't closed"
            leak.message shouldContain "TestkitCoroutinesSpecKt.forget(TestkitCoroutinesSpec.kt:"
            val refusals =
                listOf(
                    shouldThrow<IllegalStateException> { connectedCoroutines(Faults.BAD_LINE) { _, _ -> } },
                    shouldThrow { connectedCoroutines { _, _ -> clock.elapsed() } },
                )
            refusals.forEach {
                it.message shouldContain "$TEST_DEVICE puts this pair on $device, a real device, which has real time"
            }
            shouldThrow<AssertionError> {
                connectedCoroutines(
                    timeout = 50.milliseconds,
                ) { client, _ -> client.receive(8) }
            }.message shouldContain "has not ended within 50ms"
        }
    })

private suspend fun forget(peer: CoroutinePeer<*>) = peer.pool.take(64)
