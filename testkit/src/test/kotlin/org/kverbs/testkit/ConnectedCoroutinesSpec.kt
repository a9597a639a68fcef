package org.kverbs.testkit

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.comparables.shouldBeGreaterThan
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.CoroutineName
import kotlinx.coroutines.CoroutineStart.UNDISPATCHED
import kotlinx.coroutines.TimeoutCancellationException
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.yield
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionStatus.RETRY_EXC_ERR
import org.kverbs.coroutines.AsyncQueuePair
import org.kverbs.coroutines.BufferPool
import org.kverbs.coroutines.fetchAndAdd
import org.kverbs.coroutines.qp
import org.kverbs.coroutines.read
import org.kverbs.coroutines.readByteArray
import org.kverbs.coroutines.receive
import org.kverbs.coroutines.send
import org.kverbs.coroutines.write
import org.kverbs.coroutines.writeWithImmediate
import org.kverbs.dsl.RC
import org.kverbs.dsl.RcVerbs
import org.kverbs.dsl.connectOptions
import org.kverbs.dsl.get
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Faults
import java.lang.foreign.ValueLayout.JAVA_LONG
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import java.time.Duration as JavaDuration

class ConnectedCoroutinesSpec :
    FunSpec({
        test("should carry a message there and back, and let both ends use each other's memory") {
            connectedCoroutines { client, server ->
                launch { server.send(server.receive(64).reversedArray()) }
                val answer = async(start = UNDISPATCHED) { client.receive(64) }
                client.send("ping".encodeToByteArray())
                answer.await().decodeToString() shouldBe "gnip"

                server.memory.memory().set(JAVA_LONG, 0, 40)
                client.qp.fetchAndAdd(server.memory.remote(), 2) shouldBe 40
                client.qp.read(server.memory.remote(), into = client.memory[64, 8])
                client.memory.memory().get(JAVA_LONG, 64) shouldBe 42
            }
        }

        // Taken from docs/testing.md.
        test("should answer when the line is whole again") {
            connectedCoroutines { client, server ->
                // what is tested: a suspend function on an AsyncQueuePair
                val serving = launch { answer(server.qp, server.pool) }
                val (here, there) = fabric.devices()
                fabric.partition(here, there)
                launch {
                    delay(100.milliseconds)
                    fabric.heal(here, there)
                }
                val answer = async(start = UNDISPATCHED) { client.receive(64) }
                client.send("ping".encodeToByteArray())
                answer.await().decodeToString() shouldBe "gnip"
                serving.cancel()
            }
        }

        test("should carry messages both ways over a bad line, in order, the same in each run with the same seed") {
            fun trace(seed: Long): Any {
                lateinit var used: EmbeddedFabric
                connectedCoroutines(Faults.BAD_LINE, seed, connectOptions { retryCount(7) }) { client, server ->
                    for ((from, to) in listOf(client to server, server to client)) {
                        launch { repeat(50) { from.send("message $it".encodeToByteArray()) } }
                        launch {
                            List(50) { to.receive(64).decodeToString() } shouldContainExactly
                                List(50) { "message $it" }
                        }
                    }
                    used = fabric
                }
                used.faultsInjected() shouldBeGreaterThan 0
                return used.faultsInjected() to used.clock().elapsed()
            }
            trace(1) shouldBe trace(1)
            trace(1) shouldNotBe trace(2)
        }

        test("should end waits for a dead peer after all retries, in virtual time") {
            connectedCoroutines(options = connectOptions { timeout(20).retryCount(7) }) { client, server ->
                fabric.kill(server.context.device())
                val failure = shouldThrow<WorkCompletionException> { client.send("anybody?".encodeToByteArray()) }
                failure.status() shouldBe RETRY_EXC_ERR
                clock.elapsed() shouldBeGreaterThan JavaDuration.ofSeconds(30)
            }
        }

        test("should let delays and timeouts go by the clock of the devices, in one order") {
            connectedCoroutines(options = connectOptions { timeout(20).retryCount(7) }) { client, server ->
                val (here, there) = fabric.devices()
                fabric.partition(here, there)
                launch {
                    delay(20.seconds)
                    fabric.heal(here, there)
                }
                val received = async { server.receive(8).size }
                client.send(ByteArray(8))
                received.await() shouldBe 8
                clock.elapsed() shouldBeGreaterThan JavaDuration.ofSeconds(20)

                val before = clock.elapsed()
                shouldThrow<TimeoutCancellationException> { withTimeout(1.hours) { client.receive(8) } }
                clock.elapsed() - before shouldBe JavaDuration.ofHours(1)
            }
        }

        test("should let no time pass while a coroutine has work to do") {
            connectedCoroutines(options = connectOptions { rnrRetry(1) }) { client, server ->
                var turns = 0
                launch {
                    while (turns < 1000) {
                        turns++
                        yield()
                    }
                    server.receive(8)
                }
                client.send(ByteArray(8)) // the only retry comes when the receive is posted
                turns shouldBe 1000
            }
        }

        test("should give the message of a cancelled receive to the next one, and lose no buffer") {
            connectedCoroutines { client, server ->
                val cancelled = launch(start = UNDISPATCHED) { server.receive(64) }
                cancelled.cancelAndJoin()
                client.send("ping".encodeToByteArray())
                server.receive(64).decodeToString() shouldBe "ping"
                launch(start = UNDISPATCHED) { server.receive(64) }.cancelAndJoin()
            }
        }

        test("should receive no bytes by a write with immediate, which lie in the memory that the peer named") {
            connectedCoroutines { client, server ->
                for (length in listOf(1L, 64L)) {
                    val received = async { server.receive(1) }
                    client.qp.writeWithImmediate(client.memory[0, length], server.memory.remote(), immediate = 7)
                    received.await().size shouldBe 0
                }
            }
        }

        test("should name the resources that a test left open, and where it opened or took them") {
            shouldThrow<AssertionError> { connectedCoroutines { client, _ -> forget(client) } }.message.let {
                it shouldContain "1 buffers of the buffer pool on embedded0 weren't closed"
                it shouldContain
                    "was taken\n    at org.kverbs.testkit.ConnectedCoroutinesSpecKt.forget(ConnectedCoroutinesSpec.kt:"
            }
            shouldThrow<AssertionError> { connectedCoroutines { _, server -> forgetRegion(server) } }.message.let {
                it shouldContain "1 resource is still open"
                it shouldContain
                    "was opened\n    at " +
                    "org.kverbs.testkit.ConnectedCoroutinesSpecKt.forgetRegion(ConnectedCoroutinesSpec.kt:"
            }
            shouldThrow<AssertionError> { connectedCoroutines { client, _ -> forgetQueuePair(client) } }.message.let {
                it shouldContain "queue pair"
                it shouldContain
                    "was opened\n    at " +
                    "org.kverbs.testkit.ConnectedCoroutinesSpecKt.forgetQueuePair(ConnectedCoroutinesSpec.kt:"
            }
        }

        test("should fail with the exception of a coroutine of the block") {
            shouldThrow<IllegalStateException> {
                connectedCoroutines { client, _ ->
                    launch { error("the server's") }
                    client.receive(8)
                }
            }.message shouldBe "the server's"
        }

        test("should end a block that does not end by itself, and tell what it waits for") {
            shouldThrow<AssertionError> {
                connectedCoroutines(
                    timeout = 50.milliseconds,
                ) { client, _ -> client.receive(8) }
            }.message shouldContain "has not ended within 50ms; it waits for something that does not happen"
            shouldThrow<AssertionError> {
                connectedCoroutines(
                    timeout = 500.milliseconds,
                ) { _, _ -> launch(CoroutineName("server")) { awaitCancellation() } }
            }.message shouldContain "its coroutines have not ended either (server): cancel"
        }

        test("should end when its thread is interrupted") {
            var cleaned = false
            shouldThrow<InterruptedException> {
                connectedCoroutines { client, _ ->
                    Thread.currentThread().interrupt()
                    try {
                        client.receive(8)
                    } finally {
                        cleaned = true
                    }
                }
            }
            cleaned shouldBe true
        }

        test("should fail a test that changes posted memory") {
            shouldThrow<AssertionError> {
                connectedCoroutines(diagnostics = true) { client, server ->
                    val write =
                        launch(
                            start = UNDISPATCHED,
                        ) { client.qp.write(client.memory[0, 8], to = server.memory.remote()) }
                    client.memory.memory().set(JAVA_LONG, 0, 1)
                    write.join()
                }
            }.message shouldContain "misused while it was posted, once"
        }
    })

private suspend fun answer(
    qp: AsyncQueuePair<RcVerbs>,
    pool: BufferPool,
) {
    pool.take(64).use { buffer ->
        while (true) {
            val length = qp.receive(buffer).length
            buffer.write(buffer.readByteArray(0, length).reversedArray())
            qp.send(buffer, length)
        }
    }
}

private suspend fun forget(peer: CoroutinePeer<*>) = peer.pool.take(64)

private fun forgetRegion(peer: CoroutinePeer<*>) = peer.pd.memoryRegion(64)

private fun forgetQueuePair(peer: CoroutinePeer<*>) = peer.dispatcher.qp(peer.pd, RC)
