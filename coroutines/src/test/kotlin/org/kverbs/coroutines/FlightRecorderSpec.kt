package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.ints.shouldBeGreaterThanOrEqual
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import jdk.jfr.Recording
import jdk.jfr.consumer.RecordedEvent
import jdk.jfr.consumer.RecordingFile
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.job
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionException
import org.kverbs.cm.ConnectionException
import org.kverbs.dsl.KiB
import org.kverbs.dsl.get
import java.net.InetSocketAddress
import java.nio.file.Files
import java.nio.file.Path
import java.time.Duration
import kotlin.concurrent.thread
import kotlin.io.path.deleteIfExists

private const val SLOW_WAIT = "org.kverbs.SlowWait"

/** Records with Flight Recorder while [block] runs. Returns the events of kverbs by the last part of their names. */
private suspend fun recorded(
    threshold: Duration = Duration.ZERO,
    block: suspend () -> Unit,
): Map<String, List<RecordedEvent>> {
    val file = Files.createTempFile("kverbs", ".jfr")
    try {
        Recording().use { recording ->
            recording.enable(SLOW_WAIT).withThreshold(threshold)
            recording.start()
            block()
            recording.stop()
            recording.dump(file)
        }
        return RecordingFile
            .readAllEvents(file)
            .filter { it.eventType.name.startsWith("org.kverbs.") }
            .groupBy { it.eventType.name.substringAfterLast('.') }
    } finally {
        file.deleteIfExists()
    }
}

class FlightRecorderSpec :
    FunSpec({
        timeout = 120_000

        test("should record a connection at both sides, and its loss at the side that did not end it") {
            val events =
                recorded {
                    rdmaHost { provider("embedded") }.use { host ->
                        val listener = host.listen(InetSocketAddress("127.0.0.1", 0))
                        coroutineScope {
                            launch { listener.accept().use { it.awaitEnd() } }
                            host.connect(listener.address).disconnect()
                        }
                        // The loss is recorded behind the end that awaitEnd() waits for.
                        host.scope.coroutineContext.job.children
                            .toList()
                            .joinAll()
                    }
                }
            val established = events.getValue("ConnectionEstablished") shouldHaveSize 2
            established.map { it.getBoolean("asked") }.toSet() shouldBe setOf(true, false)
            for (event in established) {
                event.getString("peer") shouldContain "127.0.0.1:"
                event.getString("device") shouldBe "embedded0"
                event.duration.toNanos() shouldBeGreaterThan 0
            }
            val lost = events.getValue("ConnectionLost").single()
            lost.getInt("queuePair") shouldBe established.single { !it.getBoolean("asked") }.getInt("queuePair")
            lost.getString("reason") shouldBe "DISCONNECTED"
            lost.getDuration("lifetime").toNanos() shouldBeGreaterThan 0
            events.getOrDefault("ConnectionFailed", emptyList()).shouldBeEmpty()
        }

        test("should not record as lost a connection that both sides disconnect, if the peer is first") {
            val events =
                recorded {
                    bound { server, host, address ->
                        server.serve(CoroutineScope(Dispatchers.Default)) { it.receiveOrNull() shouldBe null }
                        val client = host.connectMessages(address)
                        val leaving = async(start = CoroutineStart.UNDISPATCHED) { client.disconnect() }
                        // Keeps this thread, and with it the end of disconnect(), until the peer has closed.
                        thread { runBlocking { client.awaitEnd() } }.join()
                        leaving.await()
                        server.stop()
                    }
                }
            events.getValue("ConnectionEstablished") shouldHaveSize 2
            events.getOrDefault("ConnectionLost", emptyList()).shouldBeEmpty()
            events.getOrDefault("ChannelFailed", emptyList()).shouldBeEmpty()
        }

        test("should record a connection that nobody takes, with the reason") {
            val events =
                recorded {
                    rdmaHost { provider("embedded") }.use { host ->
                        val port = host.listen(InetSocketAddress("127.0.0.1", 0)).use { it.address.port }
                        shouldThrow<ConnectionException> { host.connect("127.0.0.1", port) }
                    }
                }
            val failed = events.getValue("ConnectionFailed").single()
            failed.getBoolean("asked") shouldBe true
            failed.getString("reason") shouldContain "ConnectionRejectedException"
        }

        test("should record the request that failed, and not those that were flushed with it") {
            val events =
                recorded {
                    TwoEnds().use { ends ->
                        val good = ends.server.region.remote()
                        val bad = RemoteMemory(good.address(), 64, good.rkey() xor 0x5500)
                        coroutineScope {
                            val calls =
                                List(4) {
                                    async {
                                        shouldThrow<WorkCompletionException> {
                                            ends.client.qp.write(ends.client.region[0, 64], to = bad)
                                        }
                                    }
                                }
                            calls.forEach { it.await() }
                        }
                        ends.client.dispatcher.stats.failures shouldBe 1
                    }
                }
            val error = events.getValue("CompletionError").single()
            error.getString("status") shouldBe "REM_ACCESS_ERR"
            error.getString("operation") shouldBe "RDMA_WRITE"
            error.getString("device") shouldBe "embedded0"
        }

        test("should record the end of a channel that its program did not close") {
            val events =
                recorded {
                    bound { server, host, address ->
                        server.serve(this) { it.channel.queuePair.close() }
                        val client = host.connectMessages(address)
                        shouldThrow<Exception> { client.receive() }
                    }
                }
            events.getOrDefault("ChannelFailed", emptyList()).map { it.getString("device") }.toSet() shouldBe
                setOf("embedded0")
        }

        test("should record a wait for a buffer that was longer than the threshold, and no shorter one") {
            suspend fun waits(threshold: Duration) =
                recorded(threshold) {
                    TwoEnds().use { ends ->
                        val pool =
                            ends.client.pd.bufferPool {
                                maxBytes(64.KiB)
                                slabSize(64.KiB)
                                maxBufferSize(64.KiB)
                            }
                        val all = pool.take(64.KiB)
                        coroutineScope {
                            val waiting = async(start = CoroutineStart.UNDISPATCHED) { pool.take(1.KiB) }
                            val cancelled = launch(start = CoroutineStart.UNDISPATCHED) { pool.take(1.KiB) }
                            delay(30)
                            cancelled.cancelAndJoin()
                            all.close()
                            waiting.await().close()
                        }
                    }
                }.getOrDefault("SlowWait", emptyList())
            val slow = waits(Duration.ofMillis(20)) shouldHaveSize 2
            slow.forEach { it.getString("what") shouldBe "buffer" }
            slow.first().getString("where") shouldBe "buffers of 1024 bytes"
            waits(Duration.ofMinutes(1)).shouldBeEmpty()
        }

        test("should record a sender that waited until its peer had taken a message") {
            val slow =
                recorded {
                    bound({ channel { receiveSlots(2) } }) { server, host, address ->
                        val isWaiting = CompletableDeferred<Unit>()
                        server.serve(this) { connection ->
                            isWaiting.await()
                            repeat(20) { connection.receive() }
                            connection.send(ByteArray(1))
                        }
                        host.connectMessages(address).use { client ->
                            launch {
                                while (client.stats.waitingSends == 0) delay(1)
                                isWaiting.complete(Unit)
                            }
                            repeat(20) { client.send(ByteArray(1)) }
                            client.receive()
                        }
                    }
                }.getValue("SlowWait")
            slow.map { it.getString("what") }.toSet() shouldBe setOf("credit of the peer")
            slow.first().getString("where") shouldContain "queue pair"
        }

        test("should run in a JVM that has no Flight Recorder") {
            val java = Path.of(System.getProperty("java.home"), "bin", "java").toString()
            val modules = "--limit-modules=java.base,java.management,jdk.net,jdk.unsupported"
            val path = listOf("-cp", System.getProperty("java.class.path"))
            val program = "org.kverbs.coroutines.WithoutFlightRecorderProgram"
            val command = listOf(java, modules, "--enable-native-access=ALL-UNNAMED") + path + program
            val process = ProcessBuilder(command).redirectErrorStream(true).start()
            val output = process.inputReader().readText()
            withClue(output) { process.waitFor() shouldBe 0 }
            output.trim().lines() shouldBe listOf("connected", "REM_ACCESS_ERR")
        }

        test("should count completions, waits and room of a dispatcher and of a queue pair") {
            TwoEnds({ maxSendWr(8) }).use { ends ->
                val remote = ends.server.region.remote()
                repeat(10) { ends.client.qp.write(ends.client.region[0, 64], to = remote.slice(0, 64)) }
                val stats = ends.client.dispatcher.stats
                stats.completions shouldBe 10
                stats.failures shouldBe 0
                stats.queues shouldBe 1
                stats.reserved shouldBeGreaterThanOrEqual 8
                stats.entries shouldBeGreaterThanOrEqual stats.reserved
                ends.client.qp.stats shouldBe AsyncQueuePairStats(capacity = 8, pending = 0, waiting = 0)
            }
        }
    })
