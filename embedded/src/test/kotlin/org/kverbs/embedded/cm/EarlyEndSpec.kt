package org.kverbs.embedded.cm

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.attributes.QueuePairState
import org.kverbs.cm.ConnectionEndpoint
import org.kverbs.cm.ConnectionEventType
import org.kverbs.cm.ConnectionException
import org.kverbs.cm.ConnectionId
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.EndpointOptions
import org.kverbs.cm.PortSpace
import org.kverbs.cm.SynchronousConnectionId
import org.kverbs.embedded.EmbeddedFabric
import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit

private fun <T> later(block: () -> T): CompletableFuture<T> =
    CompletableFuture.supplyAsync({ block() }, { Thread.ofPlatform().daemon().start(it) })

/** A client of plain verbs that has asked, and the endpoint of its request at the server, not accepted. */
private fun asked(
    block: (fabric: EmbeddedFabric, parties: Parties, asking: ConnectionId, far: ConnectionEndpoint) -> Unit,
) = Parties(EmbeddedFabric.realTime(1)).use { parties ->
    val (client, server) = parties
    val options = EndpointOptions.DEFAULTS.on(server.device).within(Duration.ofSeconds(40))
    ConnectionEndpoint.listen(Parties.address(2, 0), options).use { listener ->
        val asking = client.resolve(checkNotNull(listener.localAddress()))
        asking.prepare(client.end.qp, QueuePairState.INIT)
        asking.connect(client.end.qp, ConnectionParameters.DEFAULTS)
        listener.awaitRequest().use { far -> block(parties.fabric, parties, asking, far) }
    }
}

/** Tests accept and disconnect of endpoints and ids whose connection ends before the peer is ready. */
class EarlyEndSpec :
    FunSpec({
        timeout = 60_000

        test("should fail to accept when this side disconnects from a peer that is cut off") {
            asked { fabric, (client, server), _, far ->
                val accepting = later { shouldThrow<ConnectionException> { far.accept() } }
                client.expect(ConnectionEventType.CONNECT_RESPONSE)
                fabric.partition(client.device, server.device)
                far.id().disconnect()
                accepting.get(50, TimeUnit.SECONDS).message shouldContain "this side disconnected"
                fabric.heal(client.device, server.device)
            }
        }

        test("should fail to accept when this side disconnects from a peer that was not ready") {
            asked { _, (client), asking, far ->
                val accepting = later { shouldThrow<ConnectionException> { far.accept() } }
                client.expect(ConnectionEventType.CONNECT_RESPONSE)
                far.id().disconnect()
                client.expect(ConnectionEventType.DISCONNECTED)
                asking.disconnect()
                accepting.get(50, TimeUnit.SECONDS).message shouldContain "this side disconnected"
            }
        }

        test("should answer a peer whose end accept has taken") {
            asked { fabric, (client, server), asking, far ->
                val accepting = later { far.accept() }
                client.expect(ConnectionEventType.CONNECT_RESPONSE)
                fabric.partition(client.device, server.device)
                client.establish(asking)
                fabric.heal(client.device, server.device)
                asking.disconnect()
                accepting.get(30, TimeUnit.SECONDS)
                far.disconnect()
                client.expect(ConnectionEventType.DISCONNECTED)
            }
        }

        for (isLost in listOf(true, false)) {
            test(
                "should answer a peer that ended before disconnect() of a synchronous id; readiness lost: $isLost",
            ) {
                EmbeddedFabric.realTime(1).use { fabric ->
                    val (a, b) = List(2) { fabric.addDevice() }
                    Party(a).use { client ->
                        Party(b).use { server ->
                            SynchronousConnectionId.open(b, PortSpace.TCP).use { listening ->
                                listening.id().bind(Parties.address(2, 0))
                                listening.id().listen(4)
                                val asking = client.resolve(checkNotNull(listening.id().localAddress()))
                                asking.prepare(client.end.qp, QueuePairState.INIT)
                                asking.connect(client.end.qp, ConnectionParameters.DEFAULTS)
                                listening.awaitRequest(Duration.ofSeconds(10)).use { far ->
                                    far.id().prepare(server.end.qp, QueuePairState.INIT)
                                    val accepting =
                                        later {
                                            far.accept(
                                                server.end.qp,
                                                ConnectionParameters.DEFAULTS,
                                                Duration.ofSeconds(20),
                                            )
                                        }
                                    client.expect(ConnectionEventType.CONNECT_RESPONSE)
                                    if (isLost) fabric.partition(a, b)
                                    client.establish(asking)
                                    if (isLost) fabric.heal(a, b) else accepting.get(30, TimeUnit.SECONDS)
                                    asking.disconnect()
                                    accepting.get(30, TimeUnit.SECONDS)
                                    if (!isLost) far.awaitEnd(Duration.ofSeconds(10)) shouldBe true
                                    far.disconnect(Duration.ofSeconds(2)) shouldBe true
                                    val event = client.channel.awaitEvent(Duration.ofSeconds(3))
                                    event?.type() shouldBe ConnectionEventType.DISCONNECTED
                                }
                            }
                        }
                    }
                }
            }
        }
    })
