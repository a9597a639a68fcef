package org.kverbs.embedded.cm

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.cm.ConnectionEventType
import org.kverbs.cm.ConnectionEventType.CONNECT_RESPONSE
import org.kverbs.cm.ConnectionEventType.DISCONNECTED
import org.kverbs.cm.ConnectionParameters
import org.kverbs.embedded.EmbeddedFabric
import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.concurrent.Executors

private const val THREADS = 4
private const val ROUNDS = 100

class ConnectionThreadsSpec :
    FunSpec({
        test(
            "should serve $THREADS threads that connect $ROUNDS times each, in real time, with one thread that takes " +
                "all events",
        ) {
            val threads = Executors.newCachedThreadPool()
            EmbeddedFabric.realTime(1).use { fabric ->
                val server = Party(fabric.addDevice())
                val clients = List(THREADS) { Party(fabric.addDevice()) }
                server.listen()
                val served =
                    CompletableFuture.supplyAsync({
                        var ended = 0
                        while (ended < THREADS * ROUNDS) {
                            val event =
                                checkNotNull(
                                    server.channel.awaitEvent(Duration.ofSeconds(30)),
                                ) { "$ended connections ended" }
                            when (event.type()) {
                                ConnectionEventType.CONNECT_REQUEST -> {
                                    event.id().accept(
                                        server.end.qp,
                                        ConnectionParameters.DEFAULTS,
                                    )
                                }

                                DISCONNECTED -> {
                                    event.id().disconnect().also { event.id().close() }.also { ended++ }
                                }

                                else -> {}
                            }
                        }
                        ended
                    }, threads)
                val done =
                    clients.mapIndexed { number, client ->
                        CompletableFuture.supplyAsync({
                            repeat(ROUNDS) {
                                val id = client.resolve(Parties.address(1), from = Parties.address(number + 2, 0))
                                id.connect(client.end.qp, ConnectionParameters.DEFAULTS)
                                client.expect(CONNECT_RESPONSE)
                                id.establish()
                                id.disconnect()
                                client.expect(DISCONNECTED)
                                id.close()
                            }
                            ROUNDS
                        }, threads)
                    }
                done.sumOf { it.join() } shouldBe THREADS * ROUNDS
                served.join() shouldBe THREADS * ROUNDS
                clients.forEach { it.close() }
                server.close()
            }
            threads.shutdown()
        }
    })
