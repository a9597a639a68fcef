package org.kverbs.acceptance.lab

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.CompletionQueue
import org.kverbs.Context
import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.RNR_RETRY_EXC_ERR
import org.kverbs.WorkCompletionStatus.WR_FLUSH_ERR
import org.kverbs.attributes.ConnectOptions
import org.kverbs.dsl.get
import org.kverbs.dsl.post
import org.kverbs.dsl.write
import org.kverbs.embedded.Faults
import org.kverbs.testkit.TEST_DEVICE
import org.kverbs.testkit.connectedPair
import org.kverbs.testkit.leakCheck
import org.kverbs.testkit.shouldBeSuccessful
import org.kverbs.testkit.shouldHaveBytes
import org.kverbs.testkit.shouldHaveFailedWith
import org.kverbs.testkit.shouldHaveText
import kotlin.time.Duration.Companion.milliseconds

/** Runs the testkit on a real device: the lane sets the environment variable that names it. */
internal class TestkitSpec :
    FunSpec({
        val device = System.getenv(TEST_DEVICE)

        test("should connect a pair on the device that $TEST_DEVICE names, and echo") {
            connectedPair { client, server ->
                isEmbedded shouldBe false
                listOf(client, server).map { it.context.device().name() } shouldBe listOf(device, device)
                server.postReceive(64)
                client.postReceive(64)
                client.send("ping".encodeToByteArray())
                val ping = server.awaitReceive() shouldHaveText "ping"
                server.send(ping.bytes.reversedArray())
                client.awaitReceive() shouldHaveText "gnip"
                listOf(client, server).forEach { it.awaitSend().shouldBeSuccessful() }
            }
        }

        test("should carry messages of many sizes both ways, in order") {
            connectedPair { client, server ->
                val messages = List(50) { ByteArray(it * 400) { i -> (i * 7 + it).toByte() } }
                for ((from, to) in listOf(client to server, server to client)) {
                    messages.forEach { _ -> to.postReceive(20_000) }
                    messages.forEach { from.send(it) }
                    messages.forEach { to.awaitReceive() shouldHaveBytes it }
                    messages.forEach { _ -> from.awaitSend().shouldBeSuccessful() }
                }
            }
        }

        test(
            "should tell that no message came in time and the state of the queue pair, and take a later message",
        ) {
            connectedPair { client, server ->
                server.postReceive(64)
                val failure = shouldThrow<AssertionError> { server.awaitReceive(50.milliseconds) }
                failure.message shouldContain
                    "no completion of a receive on queue pair ${server.qp.number()} (RC) on $device"
                failure.message shouldContain "its state is RTS"
                client.send("late".encodeToByteArray())
                server.awaitReceive() shouldHaveText "late"
            }
        }

        test("should show the failed request, and the flushed ones") {
            connectedPair(options = ConnectOptions.builder().rnrRetry(1).build()) { client, _ ->
                client.postReceive(8)
                client.send(ByteArray(8))
                client.awaitSend() shouldHaveFailedWith RNR_RETRY_EXC_ERR
                client.awaitReceive().completion shouldHaveFailedWith WR_FLUSH_ERR
            }
            connectedPair { client, server ->
                val last = server.memory.remote().at(server.memory.length() - 4)
                client.qp.post {
                    write(client.memory[0, 8], RemoteMemory(last.address, 8, last.rkey)).signaled()
                }
                val failed = client.awaitSend() shouldHaveFailedWith REM_ACCESS_ERR
                shouldThrow<AssertionError> { failed.shouldBeSuccessful() }.message shouldContain "REM_ACCESS_ERR"
            }
        }

        test("should fail a test that leaves a resource open, name it and show where it was opened") {
            var leaked: CompletionQueue? = null
            val failure =
                shouldThrow<AssertionError> {
                    connectedPair {
                        client,
                        _,
                        ->
                        leaked = forgetful(client.context)
                    }
                }
            failure.message shouldContain "1 resource is still open"
            failure.message shouldContain "completion queue on $device was opened"
            failure.message shouldContain "TestkitSpecKt.forgetful(TestkitSpec.kt:"
            leaked?.isOpen shouldBe false // it was closed with the client's device

            connectedPair { client, _ ->
                val inBlock = shouldThrow<AssertionError> { leakCheck { leaked = forgetful(client.context) } }
                inBlock.message shouldContain "TestkitSpecKt.forgetful"
                leaked?.close()
            }
        }

        test("should close everything that it opened, whatever the test did") {
            leakCheck {
                connectedPair { client, server ->
                    server.postReceive(64)
                    client.send(ByteArray(64))
                }
                shouldThrow<IllegalStateException> { connectedPair { _, _ -> error("the test's") } }.message shouldBe
                    "the test's"
            }
        }

        test("should tell that a real device has no faults and no clock") {
            val refusals =
                listOf(
                    shouldThrow<IllegalStateException> { connectedPair(Faults.BAD_LINE) { _, _ -> } },
                    shouldThrow { connectedPair { _, _ -> faults(Faults.BAD_LINE) } },
                    shouldThrow { connectedPair { _, _ -> clock.elapsed() } },
                    shouldThrow { connectedPair { _, _ -> fabric.devices() } },
                )
            refusals.forEach {
                it.message shouldContain "$TEST_DEVICE puts this pair on $device, a real device, which has real time"
                it.message shouldContain "Unset $TEST_DEVICE for this test"
            }
        }
    })

private fun forgetful(context: Context): CompletionQueue = context.completionQueue(1)
