package org.kverbs.testkit

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart.UNDISPATCHED
import kotlinx.coroutines.Job
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionStatus.RETRY_EXC_ERR
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.RdmaHost
import org.kverbs.coroutines.bind
import org.kverbs.coroutines.connectMessages
import org.kverbs.coroutines.rdmaHost
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Faults
import java.net.InetSocketAddress
import java.time.Duration
import kotlin.random.Random

/** Tests services by IP addresses on a fabric of the test, as docs/testing.md describes. */
class HostsSpec :
    FunSpec({
        timeout = 120_000

        test("should answer over the network") {
            leakCheckSuspending {
                EmbeddedFabric.realTime(1).use { fabric ->
                    rdmaHost { device(fabric.addDevice()) }.use { client ->
                        rdmaHost { device(fabric.addDevice()) }.use { server ->
                            val address = InetSocketAddress("198.18.0.2", 7471) // the address of the second device
                            val serving = server.answer(address, this)
                            val connection = client.connectMessages(address)
                            connection.send("ping".encodeToByteArray())
                            connection.receive().decodeToString() shouldBe "gnip"
                            connection.disconnect()
                            serving.cancelAndJoin()
                        }
                    }
                }
            }
        }

        suspend fun shouldAnswer(
            client: RdmaHost,
            server: RdmaHost,
            at: InetSocketAddress,
        ) = coroutineScope {
            val serving = server.answer(at, this)
            client.connectMessages(at).use {
                it.send("ping".encodeToByteArray())
                it.receive().decodeToString() shouldBe "gnip"
            }
            serving.cancelAndJoin()
        }

        test("should connect from its own device, even if the fabric's first device is dead") {
            EmbeddedFabric.realTime(1).use { fabric ->
                val (first, second, third) = List(3) { fabric.addDevice() }
                fabric.kill(first)
                rdmaHost { device(second) }.use { client ->
                    rdmaHost { device(third) }.use { server ->
                        shouldAnswer(client, server, InetSocketAddress("198.18.0.3", 7471))
                        shouldAnswer(client, client, InetSocketAddress("198.18.0.2", 7471))
                    }
                }
            }
        }

        test("should connect after the host of the first device was closed, and serve at every device of the fabric") {
            EmbeddedFabric.realTime(1).use { fabric ->
                val (first, second) = List(2) { fabric.addDevice() }
                rdmaHost { device(second) }.use { client ->
                    rdmaHost { device(first) }.use { server ->
                        shouldAnswer(client, server, InetSocketAddress("198.18.0.2", 7471))
                        shouldAnswer(client, server, InetSocketAddress("198.18.0.1", 7471))
                    }
                    shouldAnswer(client, client, InetSocketAddress("198.18.0.2", 7471))
                }
            }
        }

        suspend fun connected(
            fabric: EmbeddedFabric,
            block: suspend (MessageConnection) -> Unit,
        ) = leakCheckSuspending {
            fabric.use {
                rdmaHost { device(fabric.addDevice()) }.use { client ->
                    rdmaHost { device(fabric.addDevice()) }.use { server ->
                        coroutineScope {
                            val address = InetSocketAddress("198.18.0.2", 7471)
                            val serving = server.answer(address, this)
                            client.connectMessages(address).use { block(it) }
                            serving.cancelAndJoin()
                        }
                    }
                }
            }
        }

        test("should answer over a bad line") {
            val fabric = EmbeddedFabric.realTime(1)
            fabric.setFaults(Faults.BAD_LINE)
            connected(fabric) { connection ->
                repeat(20) {
                    val message = Random(it).nextBytes(it * 500)
                    connection.send(message)
                    connection.receive() shouldBe message.reversedArray()
                }
                fabric.faultsInjected() shouldBeGreaterThan 0
            }
        }

        test(
            "should find a dead peer in no real time, on a virtual clock that is held while the hosts' threads wait",
        ) {
            val fabric = EmbeddedFabric.virtual(1)
            fabric.clock().hold()
            connected(fabric) { connection ->
                connection.send("ping".encodeToByteArray())
                connection.receive().decodeToString() shouldBe "gnip"
                fabric.clock().elapsed() shouldBe Duration.ZERO
                fabric.kill(fabric.devices().last())
                connection.send("anybody?".encodeToByteArray()) // a short message: copied and sent
                coroutineScope {
                    val answer = async(start = UNDISPATCHED) { runCatching { connection.receive() } }
                    fabric.clock().advance(Duration.ofMinutes(1))
                    (answer.await().exceptionOrNull() as WorkCompletionException).status() shouldBe RETRY_EXC_ERR
                }
            }
        }
    })

private fun RdmaHost.answer(
    address: InetSocketAddress,
    scope: CoroutineScope,
): Job = bind(address) { onFailure {} }.serve(scope) { for (message in it.incoming) it.send(message.reversedArray()) }
