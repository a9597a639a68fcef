package org.kverbs.blocking

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import org.kverbs.Device
import org.kverbs.RdmaException
import org.kverbs.cm.ConnectionException
import org.kverbs.cm.ConnectionRejectedException
import org.kverbs.coroutines.ChannelClosedException
import java.io.IOException
import java.lang.reflect.Modifier
import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.concurrent.Executors
import java.util.concurrent.FutureTask
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeoutException
import kotlin.concurrent.thread

private const val ADDRESS = "198.18.0.1"
private val ECHO = ConnectionHandler { while (true) it.send(it.receiveOrNull() ?: break) }
private val MINUTE = Duration.ofMinutes(1)

private fun BlockingConnection.send(text: String) = send(text.encodeToByteArray())

private fun BlockingConnection.text() = receive().decodeToString()

private fun hosted(block: (BlockingHost) -> Unit) = BlockingHost.open(Device.byName("embedded0")).use(block)

/** A server with these settings, and its clients. Some clients leave without a disconnect; this is not logged. */
private fun served(
    handler: ConnectionHandler,
    settings: (BlockingServerBuilder) -> Unit = { it.onFailure { } },
    block: (BlockingServer, connect: () -> BlockingConnection) -> Unit,
) = hosted { host ->
    host.server().also(settings).serve(0, handler).use { server ->
        block(server) { host.connect(ADDRESS, server.address().port) }
    }
}

/** Waits until a thread waits for a message or for an end. */
private fun Thread.awaitParked() {
    while (state != Thread.State.TIMED_WAITING) Thread.sleep(1)
}

class BlockingSpec :
    FunSpec({
        timeout = 120_000

        test("should answer on a virtual thread, and end in good order") {
            val isVirtual = CompletableFuture<Boolean>()
            served({
                isVirtual.complete(Thread.currentThread().isVirtual).also { _ ->
                    ECHO.handle(it)
                }
            }) { server, connect ->
                connect().use { client ->
                    for (size in listOf(0, 1, 4096, 100_000)) {
                        val message = ByteArray(size) { it.toByte() }
                        client.send(message)
                        client.receive() shouldBe message
                    }
                    server.connectionCount() shouldBe 1
                    client.isOpen() shouldBe true
                    client.remoteAddress()?.port shouldBe server.address().port
                    client.finish()
                    client.receiveOrNull() shouldBe null
                    shouldThrow<ChannelClosedException> { client.receive() }
                    client.disconnect(MINUTE)
                    client.isOpen() shouldBe false
                }
                isVirtual.get() shouldBe true
            }
        }

        test("should let more virtual threads wait at once than there are carriers, at both ends") {
            val count = 8 * Runtime.getRuntime().availableProcessors()
            val waiting = LinkedBlockingQueue<BlockingConnection>()
            val go = CompletableFuture<Unit>()
            val handler =
                ConnectionHandler {
                    it.send("welcome")
                    ECHO.handle(it)
                }
            served(handler) { _, connect ->
                Executors.newVirtualThreadPerTaskExecutor().use { threads ->
                    val answers =
                        List(count) { number ->
                            threads.submit<String> {
                                connect().use { client ->
                                    client.text()
                                    waiting += client
                                    if (number == 0) go.get() // the others wait for an answer without a request
                                    if (number == 0) client.send("question 0")
                                    client.text()
                                }
                            }
                        }
                    val clients = List(count) { waiting.take() }
                    go.complete(Unit)
                    answers[0].get() shouldBe "question 0"
                    answers.drop(1).any { it.isDone } shouldBe false
                    clients.filter { it.isOpen() }.forEach { it.send("question") }
                    answers.drop(1).map { it.get() }.distinct() shouldContainExactly listOf("question")
                }
            }
        }

        test("should end a wait when its thread is interrupted, and give the message to the next receiver") {
            served(ECHO) { _, connect ->
                connect().use { client ->
                    val waiting = FutureTask { shouldThrow<InterruptedException> { client.receive() } }
                    val thread = Thread.ofVirtual().start(waiting)
                    thread.awaitParked()
                    thread.interrupt()
                    waiting.get()
                    client.send("still there")
                    client.text() shouldBe "still there"

                    Thread.currentThread().interrupt()
                    shouldThrow<InterruptedException> { client.send("never sent") }
                    Thread.interrupted() shouldBe false
                    client.send("sent")
                    client.text() shouldBe "sent"
                }
            }
        }

        test("should stop waiting after the timeout without losing a message") {
            served(ECHO) { _, connect ->
                connect().use { client ->
                    for (timeout in listOf(Duration.ofMillis(1), Duration.ZERO, Duration.ofSeconds(-1))) {
                        shouldThrow<TimeoutException> { client.receive(timeout) }
                    }
                    repeat(200) { number ->
                        client.send("$number")
                        // Shorter than an answer takes, about as long, and longer.
                        while (true) {
                            try {
                                client.receive(Duration.ofNanos(number * 10_000L)).decodeToString() shouldBe "$number"
                                break
                            } catch (_: TimeoutException) {
                                continue
                            }
                        }
                    }
                    client.send("last")
                    client.receive(MINUTE).decodeToString() shouldBe "last"
                }
            }
        }

        test("should report a handler's exception and keep serving other clients") {
            val failures = LinkedBlockingQueue<Throwable>()
            val handler =
                ConnectionHandler {
                    val request = it.text()
                    if (request == "fail") throw IOException("planted")
                    it.send(request)
                }
            served(handler, { it.onFailure(failures::add) }) { _, connect ->
                connect().use { failing ->
                    connect().use { other ->
                        failing.send("fail")
                        failures.take().message shouldBe "planted"
                        shouldThrow<RdmaException> { failing.receive() }
                        other.send("fine")
                        other.text() shouldBe "fine"
                        other.receiveOrNull() shouldBe null
                    }
                }
            }
        }

        test("should accept clients by their private data, with a decision that can block") {
            hosted { host ->
                val token = "open sesame".encodeToByteArray()
                val builder =
                    host.server().maxConnections(10).timeout(MINUTE).authorize { request ->
                        Thread.sleep(1)
                        request.privateData.take(token.size) == token.toList()
                    }
                builder.onFailure { }.serve(0, ECHO).use { server ->
                    val asked = host.client().privateData(token).timeout(MINUTE)
                    asked.connect(ADDRESS, server.address().port).use { client ->
                        client.send("in")
                        client.text() shouldBe "in"
                    }
                    shouldThrow<ConnectionRejectedException> { host.connect(ADDRESS, server.address().port) }
                }
            }
        }

        test("should refuse an invalid setting in the call that sets it") {
            hosted { host ->
                shouldThrow<IllegalArgumentException> { host.server().maxConnections(0) }.message shouldContain
                    "maxConnections(0)"
                shouldThrow<IllegalArgumentException> { host.client().timeout(Duration.ZERO) }
            }
        }

        test("should tell handlers about a stop and not interrupt those that end in good order") {
            val ends = LinkedBlockingQueue<String>()
            val handler =
                ConnectionHandler { connection ->
                    connection.send("${connection.isStopping()}")
                    while (true) connection.send(connection.receiveUnlessStopping() ?: break)
                    ends += "stopping: ${connection.isStopping()}"
                }
            served(handler, { it.onFailure { failure -> ends += "$failure" } }) { server, connect ->
                val clients = List(3) { connect() }
                for (client in clients) {
                    client.text() shouldBe "false"
                    client.send("question")
                    client.text() shouldBe "question"
                }
                clients[0].finish()
                ends.take() shouldBe "stopping: false"
                clients[1].close()
                ends.take() shouldNotContain "stopping"
                server.isStopping() shouldBe false
                val stopping = thread { server.stop(MINUTE.multipliedBy(10)) }
                clients[2].receiveUnlessStopping() shouldBe null
                clients[2].isStopping() shouldBe false
                clients[2].close()
                ends.take() shouldBe "stopping: true"
                stopping.join()
                server.isStopping() shouldBe true
                clients[0].close()
            }
        }

        test("should end an idle connection") {
            val failures = LinkedBlockingQueue<Throwable>()
            val settings: (BlockingServerBuilder) -> Unit =
                { it.idleTimeout(Duration.ofMillis(200)).keepAlive(null).onFailure(failures::add) }
            served(ECHO, settings) { _, connect ->
                connect().use { client ->
                    shouldThrow<RdmaException> { client.receive() }
                    failures.take().message shouldContain "idleTimeout"
                }
            }
        }

        test("should reject a client without free memory, and refuse limits that contradict each other") {
            val limited: (BlockingServerBuilder) -> Unit =
                { it.maxMessageSize(1000).maxMemory(200_000).maxMemoryPerConnection(200_000).onFailure { } }
            served(ECHO, limited) { _, connect ->
                connect().use { client ->
                    client.send("in")
                    client.text() shouldBe "in"
                    shouldThrow<ConnectionRejectedException> { connect() }
                }
            }
            hosted { host ->
                val contradicting = host.server().maxMemory(200_000)
                shouldThrow<IllegalArgumentException> { contradicting.serve(0, ECHO) }.message shouldContain "200000"
                shouldThrow<IllegalArgumentException> { host.server().idleTimeout(Duration.ZERO) }
            }
        }

        test("should let handlers end when it is stopped, and interrupt them when it is closed") {
            val answered = LinkedBlockingQueue<String>()
            val handler =
                ConnectionHandler {
                    it.send("welcome")
                    try {
                        it.receive()
                        answered += "answered"
                    } catch (_: InterruptedException) {
                        answered += "interrupted"
                    } catch (_: RdmaException) {
                        answered += "interrupted" // the connection was closed first
                    }
                }
            served(handler) { server, connect ->
                connect().use { client ->
                    client.text()
                    val stopping = thread { server.stop(MINUTE) }
                    stopping.awaitParked()
                    shouldThrow<ConnectionException> { connect() }
                    answered.shouldBeEmpty()
                    client.send("a request that was under way")
                    answered.take() shouldBe "answered"
                    stopping.join()
                    server.awaitEnd()
                }
            }
            served(handler) { server, connect ->
                connect().use { client ->
                    client.text()
                    server.close()
                    answered.take() shouldBe "interrupted"
                    server.awaitEnd()
                }
            }
        }

        test("should show no Kotlin types to Java") {
            val shown =
                listOf(
                    BlockingHost::class,
                    BlockingServerBuilder::class,
                    BlockingServer::class,
                    BlockingClientBuilder::class,
                    BlockingConnection::class,
                    BlockingPublishedMemory::class,
                    BlockingRemoteRegion::class,
                    ConnectionHandler::class,
                ).flatMap { it.java.declaredMethods.asList() }
                    .filter { Modifier.isPublic(it.modifiers) && !it.isSynthetic }
                    .flatMap { method ->
                        (method.parameterTypes.asList() + method.returnType).map { method to it.name }
                    }.filter { (method, type) -> type.startsWith("kotlin") || '-' in method.name }
            shown.shouldBeEmpty()
        }
    })
