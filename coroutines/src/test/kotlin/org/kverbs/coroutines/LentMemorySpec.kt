package org.kverbs.coroutines

import io.kotest.assertions.nondeterministic.eventually
import io.kotest.assertions.throwables.shouldNotThrowAny
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import org.kverbs.Diagnostics
import org.kverbs.MemoryRegion
import org.kverbs.attributes.AccessFlag
import org.kverbs.dsl.KiB
import org.kverbs.dsl.MiB
import java.lang.foreign.Arena
import java.net.InetSocketAddress
import java.util.concurrent.CountDownLatch
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit.SECONDS
import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.EmptyCoroutineContext
import kotlin.time.Duration.Companion.seconds

private class PlantedInDispatcher : Error("planted")

private object NoDispatcher : CoroutineDispatcher() {
    override fun dispatch(
        context: CoroutineContext,
        block: Runnable,
    ): Unit = throw PlantedInDispatcher()
}

private val PEER_READS = arrayOf(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ)

/** Lets the channel read one large message ahead. */
private val QUIET: ServerBuilder.() -> Unit = {
    onFailure { }
    channel { fetchAhead(1) }
}

/** Both ends of connections whose channels share a domain, so that their peers reach memory through windows. */
private suspend fun connected(
    handler: suspend CoroutineScope.(MessageConnection) -> Unit,
    block: suspend CoroutineScope.(MessageConnection) -> Unit,
): Unit =
    withContext(Dispatchers.Default) {
        rdmaHost { provider("embedded") }.use { serving ->
            rdmaHost { provider("embedded") }.use { host ->
                serving.bind(InetSocketAddress("127.0.0.1", 0), QUIET).use { server ->
                    coroutineScope {
                        val job = server.serve(this, handler)
                        block(host.connectMessages(server.address))
                        job.cancel()
                    }
                }
            }
        }
    }

/** Runs [block] while the thread that takes the connection's completions does nothing. */
private inline fun MessageConnection.whileNobodyPolls(block: () -> Unit) {
    val isHeld = CountDownLatch(1)
    val mayGo = CountDownLatch(1)
    node.dispatcher.coroutineDispatcher.dispatch(EmptyCoroutineContext) {
        isHeld.countDown()
        mayGo.await()
    }
    isHeld.await()
    try {
        block()
    } finally {
        mayGo.countDown()
    }
}

private inline fun <reified T> open(): List<T> = Diagnostics.openResources().map { it.resource() }.filterIsInstance<T>()

private suspend fun MessageConnection.shouldWork() =
    withTimeout(20.seconds) {
        send(ByteArray(100_000))
        receive().size shouldBe 100_000
    }

/** Tests the end of memory that a peer reaches through a window. */
class LentMemorySpec :
    FunSpec({
        timeout = 120_000
        beforeSpec { Diagnostics.enable() }
        afterSpec { Diagnostics.disable() }

        val echo: suspend CoroutineScope.(MessageConnection) -> Unit = { for (message in it.incoming) it.send(message) }

        test("should end a peer's access to a published region before its memory is freed") {
            connected(echo) { connection ->
                val region = connection.pd.memoryRegion(8.KiB, *PEER_READS)
                val address = region.address()
                val registered = CompletableDeferred<List<String>>()
                region.whenClosed {
                    registered.complete(open<MemoryRegion>().filter { it.address() == address }.map { it.describe() })
                }
                connection.publish("region", region)
                region.close()
                registered.await().shouldBeEmpty()
                connection.shouldWork()
                connection.close()
            }
        }

        test("should let a peer reach the memory that a region was moved to, but not its old memory") {
            val reading: suspend CoroutineScope.(MessageConnection) -> Unit = { connection ->
                for (name in connection.incoming) {
                    connection.send(
                        connection.awaitRemote(name.decodeToString()).read(0, 5),
                    )
                }
            }
            Arena.ofShared().use { arena ->
                val (first, second) = listOf("first", "other").map { arena.allocateFrom(it) }
                connected(reading) { connection ->
                    val region = connection.pd.register(first, *PEER_READS)
                    for ((text, memory) in listOf("first" to first, "other" to second)) {
                        region.reregister(memory)
                        val published = connection.publish(text, region)
                        connection.send(text.encodeToByteArray())
                        withTimeout(20.seconds) { connection.receive() }.decodeToString() shouldBe text
                        published.withdraw()
                    }
                    connection.close()
                }
            }
        }

        for ((what, publish) in listOf<Pair<String, suspend MessageConnection.(MemoryRegion) -> Unit>>(
            "new memory" to { publish("memory", 4.KiB) },
            "a region" to { publish("memory", it) },
        )) {
            test("should give $what back when its publishing is cancelled, and go on") {
                connected(echo) { connection ->
                    connection.shouldWork()
                    val region = connection.pd.memoryRegion(8.KiB, *PEER_READS)
                    connection.publish("region", region).withdraw()
                    val before = open<MemoryRegion>().size
                    repeat(20) {
                        val other = connection.pd.memoryRegion(8.KiB, *PEER_READS)
                        connection.whileNobodyPolls {
                            val publishing = launch(start = CoroutineStart.UNDISPATCHED) { connection.publish(other) }
                            delay(1) // the device can have bound the window by now, or not
                            shouldNotThrowAny { publishing.cancelAndJoin() }
                            shouldNotThrowAny { other.close() }
                        }
                    }
                    connection.shouldWork()
                    eventually(20.seconds) { open<MemoryRegion>().size shouldBe before }
                    connection.publish(region)
                    connection.close()
                }
            }
        }

        test("should give a buffer back when its send is cancelled, but not before its memory window") {
            connected(echo) { connection ->
                connection.shouldWork()
                repeat(20) {
                    val pool =
                        connection.pd.bufferPool {
                            maxBytes(1.MiB)
                            access(*PEER_READS)
                        }
                    connection.whileNobodyPolls {
                        val buffer = pool.take(60_000)
                        val sending = launch(start = CoroutineStart.UNDISPATCHED) { connection.send(buffer) }
                        delay(1)
                        sending.cancelAndJoin()
                        buffer.close()
                        pool.taken shouldBe 1
                    }
                    eventually(20.seconds) { pool.taken shouldBe 0 }
                    pool.close()
                }
                connection.shouldWork()
                connection.close()
            }
        }

        test("should close a connection whose buffers are lent to the peer") {
            val deaf: suspend CoroutineScope.(MessageConnection) -> Unit = { it.awaitEnd() }
            connected(deaf) { connection ->
                val pool =
                    connection.pd.bufferPool {
                        maxBytes(8.MiB)
                        slabSize(2.MiB)
                        maxBufferSize(2.MiB)
                        access(*PEER_READS)
                    }
                val sending =
                    List(3) {
                        launch(
                            start = CoroutineStart.UNDISPATCHED,
                        ) { runCatching { connection.send(pool.take(2.MiB)) } }
                    }
                eventually(20.seconds) { connection.stats.sent shouldBe 3 }
                connection.whileNobodyPolls { shouldNotThrowAny { connection.close() } }
                withTimeout(20.seconds) { sending.forEach { it.join() } }
                eventually(20.seconds) { open<MemoryRegion>().filter { it.length() >= 2.MiB }.shouldBeEmpty() }
            }
        }

        test("should send large messages although the dispatcher of a coroutine that waited to lend one threw") {
            val uncaught = LinkedBlockingQueue<Throwable>()
            val before = Thread.getDefaultUncaughtExceptionHandler()
            Thread.setDefaultUncaughtExceptionHandler { _, e -> uncaught.add(e) }
            try {
                connected(echo) { connection ->
                    connection.whileNobodyPolls {
                        CoroutineScope(NoDispatcher + Job()).launch(start = CoroutineStart.UNDISPATCHED) {
                            connection.send(ByteArray(100_000))
                        }
                    }
                    val reported = generateSequence(uncaught.poll(20, SECONDS)) { it.cause }
                    reported.map { it.javaClass }.toList() shouldContain PlantedInDispatcher::class.java
                    connection.shouldWork()
                    connection.close()
                }
            } finally {
                Thread.setDefaultUncaughtExceptionHandler(before)
            }
        }
    })
