package org.kverbs.testkit

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeLessThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldMatch
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineName
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import org.kverbs.embedded.Faults
import java.util.concurrent.Callable
import java.util.concurrent.Executors
import kotlin.concurrent.thread
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes

/** A wait that nothing can end fails before its timeout, which is too long here to wait for. */
private val LONG = 10.minutes

private const val LATER = 400L

class WaitInVainSpec :
    FunSpec({
        val ping = "ping".encodeToByteArray()

        test("should fail early a wait for a message that is never sent, and show queue pair and counters") {
            connectedPair { client, server ->
                server.postReceive(64)
                client.memory.length() shouldBe server.memory.length()
                val failure = shouldThrow<AssertionError> { server.awaitReceive(LONG) }
                failure.message shouldContain "no packet is in flight"
                failure.message shouldContain "no completion of a receive on ${server.qp.describe()} that waits in vain"
                failure.message shouldContain "embedded1 has counted nothing"
                val other = shouldThrow<AssertionError> { client.awaitSend(LONG) }
                other.message shouldContain "no completion of a send on ${client.qp.describe()} that waits in vain"
            }
        }

        test("should fail early, too, when all timers have run out over a bad line") {
            connectedPair(Faults.NONE.loss(0.2)) { client, server ->
                server.postReceive(64)
                client.send(ping)
                server.awaitReceive() shouldHaveText "ping"
                client.awaitSend().shouldBeSuccessful()
                val failure = shouldThrow<AssertionError> { client.awaitSend(LONG) }
                failure.message shouldMatch Regex(".*embedded0 has counted .*sent_pkts [1-9].*")
            }
        }

        test("should wait for a thread that the test has started") {
            connectedPair { client, server ->
                server.postReceive(64)
                val sender =
                    thread {
                        Thread.sleep(LATER)
                        client.send(ping)
                    }
                server.awaitReceive() shouldHaveText "ping"
                sender.join()
            }
        }

        test("should sleep between the polls of a wait, so that a peer that waits for the same processor runs") {
            connectedPair { client, server ->
                server.postReceive(64)
                val waiting = Thread.currentThread()
                val sender =
                    thread {
                        while (waiting.state != Thread.State.TIMED_WAITING) Thread.sleep(0, 20_000)
                        client.send(ping)
                    }
                server.awaitReceive() shouldHaveText "ping"
                sender.join()
            }
        }

        test("should sleep between the polls while a time passes on a real device") {
            var polls = 0
            Idleness(null).pass(500.milliseconds) { polls++ }
            // 1,000 and then one in 50 us: 11,000. A thread that does not sleep polls millions of times.
            polls shouldBeLessThan 50_000
        }

        test("should wait for a thread that is older than the test and has used its devices") {
            Executors.newSingleThreadExecutor().use { executor ->
                executor.submit(Callable { }).get()
                connectedPair { client, server ->
                    executor.submit(Callable { client.qp.state() }).get()
                    server.postReceive(64)
                    val sending =
                        executor.submit(
                            Callable {
                                Thread.sleep(LATER)
                                client.send(ping)
                            },
                        )
                    server.awaitReceive() shouldHaveText "ping"
                    sending.get()
                }
            }
        }

        test("should wait for a thread that is older than the test and has not used its devices") {
            Executors.newSingleThreadExecutor().use { executor ->
                executor.submit(Callable { }).get()
                connectedPair { client, server ->
                    server.postReceive(64)
                    val sending =
                        executor.submit(
                            Callable {
                                Thread.sleep(LATER)
                                client.send(ping)
                            },
                        )
                    server.awaitReceive() shouldHaveText "ping"
                    sending.get()
                }
            }
        }

        test("should wait for a thread that started after a pair within the block") {
            connectedPair { client, server ->
                connectedPair { _, _ -> }
                server.postReceive(64)
                val sender =
                    thread {
                        Thread.sleep((GRACE * 1.5).inWholeMilliseconds)
                        client.send(ping)
                    }
                server.awaitReceive() shouldHaveText "ping"
                sender.join()
            }
        }

        test("should wait for a thread that a pair within the block has started") {
            connectedPair { client, server ->
                server.postReceive(64)
                connectedPair { _, _ ->
                    thread {
                        Thread.sleep((GRACE * 1.5).inWholeMilliseconds)
                        client.send(ping)
                    }
                }
                server.awaitReceive() shouldHaveText "ping"
            }
        }

        test("should end a wait when the thread of the test is interrupted, as by a timeout of JUnit") {
            connectedPair { _, server ->
                server.postReceive(64)
                Thread.currentThread().interrupt()
                shouldThrow<InterruptedException> { server.awaitReceive(LONG) }
            }
        }

        test("should fail early a block whose coroutines all wait for ever, and name them") {
            val failure =
                shouldThrow<AssertionError> {
                    connectedCoroutines(timeout = LONG) { _, server ->
                        launch(CoroutineName("the one that listens")) { server.receive(64) }
                    }
                }
            failure.message shouldContain "no packet is in flight"
            failure.message shouldContain "the one that listens"
            shouldThrow<AssertionError> {
                connectedCoroutines(timeout = LONG) { _, _ -> CompletableDeferred<Unit>().await() }
            }.message shouldContain "no packet is in flight"
        }

        test("should wait for coroutines that delay, or are on another dispatcher") {
            connectedCoroutines { client, server ->
                launch {
                    delay(3_600_000)
                    withContext(Dispatchers.IO) { Thread.sleep(LATER) }
                    client.send(ping)
                }
                server.receive(64).decodeToString() shouldBe "ping"
            }
        }

        test("should show the counters of both devices under a failure of the block") {
            val failure =
                shouldThrow<IllegalStateException> {
                    connectedPair { client, server ->
                        server.postReceive(64)
                        client.send(ping)
                        server.awaitReceive()
                        error("the test's own")
                    }
                }
            val counted = failure.suppressed.single().message
            counted shouldContain "client: embedded0 has counted sent_pkts 1, rcvd_pkts 1, sent_bytes 4; "
            counted shouldContain "server: embedded1 has counted sent_pkts 1, rcvd_pkts 1, rcvd_bytes 4"
        }
    })
