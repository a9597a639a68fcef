package org.kverbs.testkit

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.Device
import org.kverbs.dsl.RC
import org.kverbs.dsl.get
import org.kverbs.dsl.post
import org.kverbs.dsl.write
import org.kverbs.embedded.BufferMisuse
import java.lang.foreign.ValueLayout.JAVA_BYTE

class MisuseSpec :
    FunSpec({
        test("should fail a test that changes posted memory, and show the place of the post") {
            val failure =
                shouldThrow<AssertionError> {
                    connectedPair(diagnostics = true) { client, server ->
                        hastyWrite(client, server)
                        client.memory.memory().set(JAVA_BYTE, 3, 1)
                        client.awaitSend().shouldBeSuccessful()
                    }
                }
            failure.message shouldContain "misused while it was posted, once"
            failure.message shouldContain "(from byte 3 on) were changed"
            failure.message shouldContain
                "wr_id 0 was posted\n    at org.kverbs.testkit.MisuseSpecKt.hastyWrite(MisuseSpec.kt:"
        }

        // Taken from docs/testing.md.
        test("should fail a test that changes the source of a write before it is done") {
            shouldThrow<AssertionError> {
                connectedPair(diagnostics = true) { client, server ->
                    client.qp.post { write(client.memory[0, 8], server.memory.remote()).signaled() }
                    client.memory.memory().set(JAVA_BYTE, 3, 1) // too early: the write may not have read it yet
                    client.awaitSend().shouldBeSuccessful()
                }
            }.message shouldContain "(from byte 3 on) were changed"
        }

        test("should find a misuse of a request that never completes when the ends are closed") {
            shouldThrow<AssertionError> {
                connectedPair(diagnostics = true) { client, _ ->
                    client.qp.postReceive(1, client.memory[0, 8])
                    client.memory.memory().set(JAVA_BYTE, 0, 1)
                }
            }.message shouldContain "written by the program"
        }

        test("should show both posts of an overlap") {
            val message =
                shouldThrow<AssertionError> {
                    connectedPair(
                        diagnostics = true,
                    ) { client, _ -> repeat(2) { client.qp.postReceive(7L + it, client.memory[0, 8]) } }
                }.message
            message shouldContain "wr_id 8 was posted"
            message shouldContain "wr_id 7 was posted"
        }

        test("should not report the testkit's own messages, and let a test read them when they arrived") {
            connectedPair(diagnostics = true) { client, server ->
                server.postReceive(64)
                client.send("ping".encodeToByteArray())
                server.awaitReceive() shouldHaveText "ping"
                fabric.misuses().shouldBeEmpty()
            }
        }

        test("should show poison to a test that reads before it polls") {
            connectedPair(diagnostics = true) { client, server ->
                server.qp.postReceive(1, server.memory[0, 4])
                client.send("ping".encodeToByteArray())
                client.awaitSend().shouldBeSuccessful()
                server.memory.memory().asSlice(0, 4).toArray(JAVA_BYTE) shouldBe ByteArray(4) { BufferMisuse.POISON }
            }
        }

        test(
            "should fail a leak check with the misuses in its block on the devices that every program has, and not " +
                "with those before it",
        ) {
            peer("embedded0").use { client ->
                peer("embedded1").use { server ->
                    client.qp.connect(server.qp.endpoint())
                    server.qp.connect(client.qp.endpoint())

                    fun misuse() {
                        hastyWrite(client, server)
                        client.memory.memory().set(
                            JAVA_BYTE,
                            3,
                            (client.memory.memory().get(JAVA_BYTE, 3) + 1).toByte(),
                        )
                        client.awaitSend().shouldBeSuccessful()
                    }
                    misuse()
                    leakCheck { "fine" } shouldBe "fine"
                    shouldThrow<AssertionError> { leakCheck { misuse() } }.message shouldContain
                        "misused while it was posted, once"
                }
            }
        }

        test("should not report the same mistake without diagnostics, as a card does") {
            connectedPair { client, server ->
                hastyWrite(client, server)
                client.memory.memory().set(JAVA_BYTE, 3, 1)
                client.awaitSend().shouldBeSuccessful()
            }
        }
    })

private fun peer(device: String) = TestPeer(Device.byName(device).open(), RC, Idleness(null))

private fun hastyWrite(
    client: TestPeer,
    server: TestPeer,
) = client.qp.post { write(client.memory[0, 8], server.memory.remote()).signaled() }
