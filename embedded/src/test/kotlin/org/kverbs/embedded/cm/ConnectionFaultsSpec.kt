package org.kverbs.embedded.cm

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import org.kverbs.cm.ConnectionEventType.CONNECT_REQUEST
import org.kverbs.cm.ConnectionEventType.CONNECT_RESPONSE
import org.kverbs.cm.ConnectionEventType.DISCONNECTED
import org.kverbs.cm.ConnectionEventType.ESTABLISHED
import org.kverbs.cm.ConnectionEventType.REJECTED
import org.kverbs.cm.ConnectionEventType.TIMEWAIT_EXIT
import org.kverbs.cm.ConnectionEventType.UNREACHABLE
import org.kverbs.cm.ConnectionParameters
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Faults
import java.time.Duration

private const val ETIMEDOUT = 110

/** Loses, duplicates and reorders packets, with a delay. */
private val ROUGH =
    Faults.NONE
        .loss(0.3)
        .duplication(0.2)
        .reordering(0.3)
        .delay(Duration.ofMillis(1), Duration.ofMillis(20))

class ConnectionFaultsSpec :
    FunSpec({
        test(
            "should connect and disconnect on a line that loses 30 %, doubles 20 % and reorders 30 % of the packets, " +
                "with every seed",
        ) {
            var injected = 0L
            for (seed in 1L..100L) {
                withClue("seed $seed") {
                    Parties(EmbeddedFabric.virtual(seed)).use { parties ->
                        parties.fabric.setFaults(ROUGH)
                        val (asking, asked) = parties.connect()
                        // The disconnecting side, or both sides at once, depend on the seed.
                        if (seed % 3 != 0L) asking.disconnect()
                        if (seed % 3 != 1L) asked.disconnect()
                        if (seed % 3 == 1L) {
                            parties.server.expect(DISCONNECTED).status() shouldBe 0
                            asked.disconnect()
                        } else if (seed % 3 == 0L) {
                            parties.client.expect(DISCONNECTED).status() shouldBe 0
                            asking.disconnect()
                        }
                        if (seed % 3 != 0L) parties.client.expect(DISCONNECTED).status() shouldBe 0
                        if (seed % 3 != 1L) parties.server.expect(DISCONNECTED).status() shouldBe 0
                        parties.client.expect(TIMEWAIT_EXIT)
                        parties.server.expect(TIMEWAIT_EXIT)
                        injected += parties.fabric.faultsInjected()
                    }
                }
            }
            injected shouldBeGreaterThan 300
        }

        test("should produce the same events at the same times with the same seed") {
            fun run(): List<Any> =
                Parties(EmbeddedFabric.virtual(7)).use { parties ->
                    parties.fabric.setFaults(ROUGH)
                    val (asking, asked) = parties.connect()
                    val connected = parties.fabric.clock().elapsed()
                    asking.disconnect()
                    parties.server.expect(DISCONNECTED)
                    asked.disconnect()
                    parties.client.expect(DISCONNECTED)
                    listOf(
                        connected,
                        parties.fabric.clock().elapsed(),
                        parties.fabric.faultsInjected(),
                        asking.localAddress()!!,
                    )
                }
            run() shouldBe run()
        }

        test("should be refused as unreachable by a peer that is dead, after all tries") {
            Parties().use { (client, server, fabric) ->
                server.listen()
                val asking = client.resolve(Parties.address())
                fabric.kill(server.device)
                val before = fabric.clock().elapsed()
                asking.connect(client.end.qp, ConnectionParameters.DEFAULTS)
                client.expect(UNREACHABLE).status() shouldBe -ETIMEDOUT
                // 15 further attempts, each with a wait of 1.07 s and twice 0.27 s.
                (fabric.clock().elapsed() - before).toMillis().toInt() shouldBeGreaterThan 25_000
                client.hasEvent() shouldBe false
            }
        }

        test("should tell the accepting side that the peer died before it could answer") {
            Parties().use { (client, server, fabric) ->
                server.listen()
                client.resolve(Parties.address()).connect(client.end.qp, ConnectionParameters.DEFAULTS)
                val asked = server.expect(CONNECT_REQUEST).id()
                fabric.kill(client.device)
                server.accept(asked)
                server.expect(UNREACHABLE).status() shouldBe -ETIMEDOUT
                server.hasEvent() shouldBe false
            }
        }

        test("should disconnect from a peer that died, with ETIMEDOUT, and leave TIMEWAIT") {
            Parties().use { parties ->
                val (asking, _) = parties.connect()
                parties.fabric.kill(parties.server.device)
                asking.disconnect()
                parties.client.expect(DISCONNECTED).status() shouldBe -ETIMEDOUT
                parties.client.expect(TIMEWAIT_EXIT)
            }
        }

        test("should connect when only the first RTU is lost, as the REP is answered again") {
            Parties().use { parties ->
                val (client, server, fabric) = parties
                parties.loseRtu()
                server.expect(ESTABLISHED)
                fabric.clock().elapsed().toMillis() shouldBeGreaterThan 1000
                exchange(client.end, server.end)
            }
        }

        test(
            "should wait for a slow server, whose device asks for more time, longer than all retries take",
        ) {
            Parties().use { parties ->
                val (client, server, fabric) = parties
                val asking = parties.ask()
                val asked = server.expect(CONNECT_REQUEST).id()
                fabric.clock().advance(Duration.ofMinutes(5))
                client.hasEvent() shouldBe false
                server.accept(asked)
                client.expect(CONNECT_RESPONSE)
                fabric.clock().advance(Duration.ofMinutes(5))
                server.hasEvent() shouldBe false
                client.establish(asking)
                server.expect(ESTABLISHED)
            }
        }

        test("should end the other side when an id is closed at any step") {
            Parties().use { (client, server, fabric) ->
                server.listen()
                // Before the server gets the request.
                val early = client.resolve(Parties.address())
                early.connect(client.end.qp, ConnectionParameters.DEFAULTS)
                val first = server.expect(CONNECT_REQUEST).id()
                early.close()
                server.expect(REJECTED).status() shouldBe REJECT_TIMEOUT
                first.close()
                // Before the server decides.
                val asking = client.resolve(Parties.address())
                asking.connect(client.end.qp, ConnectionParameters.DEFAULTS)
                server.expect(CONNECT_REQUEST).id().close()
                client.expect(REJECTED).status() shouldBe REJECT_CONSUMER
                asking.close()
                // After the answer.
                val answered = client.resolve(Parties.address())
                answered.connect(client.end.qp, ConnectionParameters.DEFAULTS)
                val second = server.expect(CONNECT_REQUEST).id()
                second.accept(server.end.qp, ConnectionParameters.DEFAULTS)
                client.expect(CONNECT_RESPONSE)
                answered.close()
                server.expect(REJECTED).status() shouldBe REJECT_CONSUMER
                second.close()
                fabric.clock().advance(Duration.ofMinutes(5))
                (client.hasEvent() to server.hasEvent()) shouldBe (false to false)
            }
        }

        test("should end a connection whose id is closed, although most of its messages are lost") {
            for (seed in 1L..20L) {
                Parties(EmbeddedFabric.virtual(seed)).use { parties ->
                    val (asking, asked) = parties.connect()
                    parties.fabric.setFaults(Faults.NONE.loss(0.7))
                    asking.close()
                    parties.server.expect(DISCONNECTED)
                    asked.disconnect()
                    parties.server.expect(TIMEWAIT_EXIT)
                }
            }
        }
    })

private const val REJECT_TIMEOUT = 4
private const val REJECT_CONSUMER = 28
