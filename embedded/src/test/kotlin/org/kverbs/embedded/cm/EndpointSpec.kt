package org.kverbs.embedded.cm

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.Device
import org.kverbs.Diagnostics
import org.kverbs.RdmaException
import org.kverbs.RdmaSystemException
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionStatus
import org.kverbs.attributes.QueuePairState
import org.kverbs.cm.ConnectionEndpoint
import org.kverbs.cm.ConnectionEventType
import org.kverbs.cm.ConnectionException
import org.kverbs.cm.ConnectionListener
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.EndpointOptions
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Errno
import org.kverbs.embedded.Failure
import org.kverbs.embedded.Faults
import org.kverbs.embedded.Operation
import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.concurrent.ExecutionException
import java.util.concurrent.TimeUnit
import kotlin.random.Random

private fun options(device: Device) = EndpointOptions.DEFAULTS.on(device).within(Duration.ofSeconds(30))

private fun listen(device: Device) = ConnectionEndpoint.listen(Parties.address(2, 0), options(device))

private fun <T> later(block: () -> T): CompletableFuture<T> =
    CompletableFuture.supplyAsync({ block() }, { Thread.ofPlatform().daemon().start(it) })

private fun <T> CompletableFuture<T>.result(): T = get(60, TimeUnit.SECONDS)

/** Connects two endpoints. The server has room for [receives] messages of 8 bytes, and posts them. */
private fun connected(
    client: Device,
    server: Device,
    receives: Int = 0,
): Pair<ConnectionEndpoint, ConnectionEndpoint> =
    listen(server).use { listener ->
        val near = ConnectionEndpoint.to(checkNotNull(listener.localAddress()), options(client))
        val connecting = later { near.connect() }
        val far = listener.awaitRequest()
        if (receives > 0) {
            val memory = far.messageRegion(8L * receives)
            for (i in 0L until receives) far.postReceive(i, memory.slice(8 * i, 8))
        }
        far.accept()
        connecting.result()
        near to far
    }

/** Endpoints under faults, and closed at any time. */
class EndpointSpec :
    FunSpec({
        timeout = 120_000

        beforeTest { Diagnostics.enable() }
        afterTest {
            Diagnostics.openResources().map { it.resource().describe() }.shouldBeEmpty()
            Diagnostics.disable()
        }

        test("should accept a peer whose readiness the network lost, and which has sent and disconnected by then") {
            EmbeddedFabric.realTime(1).use { fabric ->
                val (a, b) = List(2) { fabric.addDevice() }
                Party(a).use { client ->
                    listen(b).use { listener ->
                        val asking = client.resolve(checkNotNull(listener.localAddress()))
                        asking.prepare(client.end.qp, QueuePairState.INIT)
                        asking.connect(client.end.qp, ConnectionParameters.DEFAULTS)
                        listener.awaitRequest().use { far ->
                            val memory = far.messageRegion(8)
                            far.postReceive(1, memory.slice())
                            val accepting = later { far.accept() }
                            client.expect(ConnectionEventType.CONNECT_RESPONSE)
                            fabric.partition(a, b)
                            client.establish(asking)
                            fabric.heal(a, b)
                            client.end.post { send(2).from(client.end.mr.slice(0, 8)).signaled() }
                            client.end.await(1).single().isSuccess shouldBe true
                            asking.disconnect()
                            accepting.result()
                            far.awaitReceive().byteLength() shouldBe 8
                            far.awaitEnd(Duration.ofSeconds(30)) shouldBe true
                        }
                    }
                }
            }
        }

        test("should close all that an endpoint owns although the close of its id throws an error") {
            EmbeddedFabric.realTime(1).use { fabric ->
                val (a, b) = List(2) { fabric.addDevice() }
                val (near, far) = connected(a, b)
                far.use {
                    near.id().whenClosed { throw OutOfMemoryError("planted") }
                    shouldThrow<OutOfMemoryError> { near.close() }.message shouldBe "planted"
                    near.queuePair().isOpen shouldBe false
                    near.protectionDomain().isOpen shouldBe false
                }
            }
        }

        test("should connect, carry messages in order and disconnect on a line that loses, doubles and reorders") {
            var injected = 0L
            for (seed in 1L..4L) {
                withClue("seed $seed") {
                    EmbeddedFabric.realTime(seed).use { fabric ->
                        val (a, b) = List(2) { fabric.addDevice() }
                        fabric.setFaults(Faults.NONE.loss(0.05).duplication(0.05).reordering(0.05))
                        val (near, far) = connected(a, b, receives = 20)
                        near.use {
                            far.use {
                                val memory = near.messageRegion(8)
                                val got = later { List(20) { far.awaitReceive().workRequestId() } }
                                repeat(20) {
                                    near.postSend(it.toLong(), memory.slice())
                                    near.awaitSend().workRequestId() shouldBe it
                                }
                                got.result() shouldBe List(20) { it.toLong() }
                                val ended = later { far.awaitEnd(Duration.ofSeconds(30)) }
                                near.disconnect() shouldBe true
                                ended.result() shouldBe true
                            }
                        }
                        injected += fabric.faultsInjected()
                    }
                }
            }
            injected shouldBeGreaterThan 20
        }

        test("should report a send to a peer that died, and end on time without one") {
            EmbeddedFabric.realTime(1).use { fabric ->
                val (a, b) = List(2) { fabric.addDevice() }
                val (near, far) = connected(a, b, receives = 1)
                fabric.kill(b)
                near.postSend(5, near.messageRegion(8).slice())
                val failed = shouldThrow<WorkCompletionException> { near.awaitSend(Duration.ofSeconds(60)) }
                failed.status() shouldBe WorkCompletionStatus.RETRY_EXC_ERR
                near.awaitEnd(Duration.ofMillis(50)) shouldBe false
                near.close()
                far.close()
            }
        }

        test("should close what it made, whichever call the device refuses, and reject the request of the peer") {
            val calls =
                listOf(
                    Operation.OPEN_DEVICE,
                    Operation.ALLOCATE_PROTECTION_DOMAIN,
                    Operation.CREATE_COMPLETION_CHANNEL,
                    Operation.CREATE_COMPLETION_QUEUE,
                    Operation.CREATE_QUEUE_PAIR,
                    Operation.MODIFY_QUEUE_PAIR,
                )
            EmbeddedFabric.realTime(1).use { fabric ->
                val (a, b) = List(2) { fabric.addDevice() }
                listen(b).use { listener ->
                    val address = checkNotNull(listener.localAddress())
                    for (call in calls) {
                        for (nth in 1..2) {
                            withClue("$call, call $nth") {
                                val failure = Failure.of(call, Errno.ENOMEM)
                                fabric.inject(if (nth == 1) failure else failure.nth(2))
                                // The second call of its kind can be that of the other side, or none.
                                val outcome =
                                    runCatching {
                                        ConnectionEndpoint.to(address, options(a)).use { near ->
                                            val connecting = later { near.connect() }
                                            listener.awaitRequest().use { it.accept() }
                                            connecting.result()
                                        }
                                    }
                                if (nth == 1) {
                                    val refused = outcome.exceptionOrNull()
                                    (refused is RdmaSystemException) shouldBe true
                                    refused?.message shouldContain "ENOMEM"
                                }
                            }
                        }
                        drain(listener)
                    }
                }
            }
        }

        test("should end every call with a known exception, and leave nothing, if all is closed at any time") {
            val random = Random(1)
            EmbeddedFabric.realTime(1).use { fabric ->
                val (a, b) = List(2) { fabric.addDevice() }
                repeat(100) { round ->
                    withClue("round $round") {
                        val listener = listen(b)
                        val near = ConnectionEndpoint.to(checkNotNull(listener.localAddress()), options(a))
                        val asking =
                            later {
                                near.connect()
                                near.postSend(1, near.messageRegion(8).slice())
                                near.awaitSend()
                                near.disconnect()
                            }
                        val serving =
                            later {
                                listener.awaitRequest().use { far ->
                                    val memory = far.messageRegion(8)
                                    repeat(2) { far.postReceive(1, memory.slice()) } // the second one is flushed
                                    far.accept()
                                    far.awaitReceive()
                                    far.awaitReceive()
                                }
                            }
                        Thread.sleep(0, random.nextInt(999_999))
                        if (round % 2 == 0) Thread.sleep(random.nextLong(4))
                        listOf<AutoCloseable>(near, listener).shuffled(random).forEach { it.close() }
                        listOf(asking, serving).forEach { it.shouldEndWell() }
                    }
                }
            }
        }
    })

/** Takes the requests that are still on their way, and closes them. */
private fun drain(listener: ConnectionListener) {
    while (true) {
        try {
            listener.awaitRequest(Duration.ofMillis(100)).close()
        } catch (_: ConnectionException) {
            return
        }
    }
}

private fun CompletableFuture<*>.shouldEndWell() {
    try {
        result()
    } catch (e: ExecutionException) {
        val isKnown = e.cause is RdmaException || e.cause is IllegalStateException
        withClue(e.cause?.stackTraceToString()) { isKnown shouldBe true }
    }
}
