package org.kverbs.testkit

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.comparables.shouldBeLessThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.async
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.yield
import org.kverbs.attributes.QueuePairType
import org.kverbs.coroutines.send
import org.kverbs.coroutines.write
import org.kverbs.dsl.ReceiveVerbs
import org.kverbs.dsl.Transport
import org.kverbs.dsl.UC
import org.kverbs.dsl.UD
import org.kverbs.dsl.get
import org.kverbs.embedded.Faults
import java.lang.foreign.ValueLayout.JAVA_LONG
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.milliseconds

/** Tests pairs of unreliable queue pairs. */
class TransportSpec :
    FunSpec({
        val ping = "ping".encodeToByteArray()

        for ((transport, type) in mapOf<Transport<ReceiveVerbs>, QueuePairType>(
            UC to QueuePairType.UC,
            UD to QueuePairType.UD,
        )) {
            test("should carry messages both ways between two ends of $transport") {
                connectedPair(transport) { client, server ->
                    client.qp.type() shouldBe type
                    for ((from, to) in listOf(client to server, server to client)) {
                        to.postReceive(64)
                        from.send(ping)
                        to.awaitReceive() shouldHaveText "ping"
                        from.awaitSend().shouldBeSuccessful()
                    }
                }
            }

            test("should carry messages both ways between coroutines of $transport") {
                connectedCoroutines(transport) { client, server ->
                    val answer = async { client.receive(64) }
                    launch { server.send(server.receive(64).reversedArray()) }
                    yield() // datagrams need a posted receive
                    client.send(ping)
                    answer.await().decodeToString() shouldBe "gnip"
                }
            }

            test("should tell a test of $transport that a message was lost") {
                connectedPair(transport, Faults.NONE.loss(1.0)) { client, server ->
                    server.postReceive(64)
                    client.send(ping)
                    client.awaitSend().shouldBeSuccessful()
                    server.expectNoMessage()
                    faults(Faults.NONE)
                    client.send(ping)
                    shouldThrow<AssertionError> { server.expectNoMessage() }.message shouldContain
                        "one of 4 bytes did: \"ping\""
                }
                connectedCoroutines(transport, Faults.NONE.loss(1.0)) { client, server ->
                    launch { client.send(ping) }
                    server.expectNoMessage(1.hours)
                    faults(Faults.NONE)
                    launch { client.send(ping) }
                    shouldThrow<AssertionError> { server.expectNoMessage(5.milliseconds) }.message shouldContain
                        "\"ping\""
                }
            }
        }

        test("should write into the peer's memory over UC, which has no reads") {
            connectedCoroutines(UC) { client, server ->
                client.memory.memory().set(JAVA_LONG, 0, 42)
                client.qp.write(client.memory[0, 8], to = server.memory.remote())
                while (server.memory.memory().get(JAVA_LONG, 0) != 42L) {
                    clock.elapsed().toHours() shouldBeLessThan 1L
                    delay(1)
                }
            }
        }

        test("should give the address for datagrams that the test posts itself") {
            connectedCoroutines(UD) { client, server ->
                val received = async { server.receive(8) }
                yield()
                client.memory.memory().set(JAVA_LONG, 0, 42)
                client.qp.send(client.memory[0, 8], to = client.destination)
                received.await()[0] shouldBe 42
            }
        }

        test("should refuse a datagram that the device drops, and the address of a connected end") {
            connectedPair(UD) { client, _ ->
                shouldThrow<IllegalArgumentException> { client.send(ByteArray(5000)) }.message shouldContain
                    "at most the path MTU, 4096"
            }
            connectedCoroutines(
                UD,
            ) { client, _ -> shouldThrow<IllegalArgumentException> { client.send(ByteArray(5000)) } }
            connectedPair(UC) { client, _ ->
                shouldThrow<IllegalStateException> { client.destination }.message shouldContain "is connected"
            }
        }
    })
