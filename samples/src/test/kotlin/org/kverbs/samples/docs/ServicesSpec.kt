package org.kverbs.samples.docs

import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.flowOf
import kotlinx.coroutines.launch
import kotlinx.coroutines.selects.select
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.io.files.Path
import kotlinx.io.files.SystemFileSystem
import kotlinx.serialization.Serializable
import org.kverbs.Device
import org.kverbs.cm.ConnectionException
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.RdmaHost
import org.kverbs.coroutines.RdmaHostBuilder
import org.kverbs.coroutines.RdmaServer
import org.kverbs.coroutines.RegisteredBuffer
import org.kverbs.coroutines.WaitStrategy
import org.kverbs.coroutines.bind
import org.kverbs.coroutines.bufferPool
import org.kverbs.coroutines.connectMessages
import org.kverbs.coroutines.readByteArray
import org.kverbs.coroutines.reconnecting
import org.kverbs.coroutines.transferFrom
import org.kverbs.coroutines.transferTo
import org.kverbs.dsl.KiB
import org.kverbs.dsl.LOCAL_WRITE
import org.kverbs.dsl.MiB
import org.kverbs.dsl.REMOTE_READ
import org.kverbs.dsl.REMOTE_WRITE
import org.kverbs.serialization.answerRequests
import org.kverbs.serialization.method
import org.kverbs.serialization.requests
import org.kverbs.serialization.streamMethod
import org.kverbs.serialization.typed
import java.io.ByteArrayOutputStream
import java.io.File
import java.io.PrintStream
import java.lang.System.Logger.Level.WARNING
import java.util.concurrent.atomic.AtomicLong
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds

@Serializable
data class Order(
    val item: String,
    val count: Int,
)

@Serializable
data class Receipt(
    val cents: Int,
)

val price = method<Order, Receipt>("price")
val stock = streamMethod<Unit, String>("stock")

/** On the device of the address that the page names, whatever else this machine has. */
private fun rdmaHost(settings: RdmaHostBuilder.() -> Unit = {}): RdmaHost =
    org.kverbs.coroutines.rdmaHost {
        device(Device.byName("embedded0"))
        settings()
    }

/** The snippets of docs/services.md, which FragmentsSpec of the acceptance suite compares with the page. */
class ServicesSpec :
    FunSpec({
        timeout = 60_000

        val told = StringBuffer()

        fun println(line: Any) {
            told.append(line).append('\n')
        }

        suspend fun told(block: suspend () -> Unit): String {
            told.setLength(0)
            block()
            return told.toString()
        }

        suspend fun hosted(block: suspend CoroutineScope.(RdmaHost) -> Unit) =
            withContext(Dispatchers.Default) { rdmaHost().use { block(it) } }

        /** A server of the page's, [client] and the end of both. */
        suspend fun served(
            serve: CoroutineScope.(RdmaServer) -> Unit,
            client: suspend CoroutineScope.(MessageConnection) -> Unit,
        ) = hosted { host ->
            host.bind(7471).use { server ->
                val serving = launch { serve(server) }
                host.connectMessages("198.18.0.1", 7471).use { connection ->
                    client(connection)
                    connection.disconnect()
                }
                server.stop(30.seconds)
                serving.join()
                server.stats.failed shouldBe 0 // each handler saw the client's end
            }
        }

        val echo: CoroutineScope.(RdmaServer) -> Unit = { server ->
            server.serve(this) { connection -> for (message in connection.incoming) connection.send(message) }
        }

        suspend fun ping(host: RdmaHost) {
            host.connectMessages("198.18.0.1", 7471).use { connection ->
                connection.send("ping".encodeToByteArray())
                println(connection.receive().decodeToString())
                connection.disconnect()
            }
        }

        /** What [connect] gives once somebody listens. */
        suspend fun <T> whenServed(connect: suspend () -> T): T {
            while (true) {
                try {
                    return connect()
                } catch (_: ConnectionException) {
                    delay(1.milliseconds)
                }
            }
        }

        suspend fun pinged(host: RdmaHost) = whenServed { ping(host) }

        test("should serve and connect") {
            hosted { client ->
                val running =
                    launch {
                        rdmaHost().use { host ->
                            host.bind(7471).use { server ->
                                val serving =
                                    server.serve(this) { connection ->
                                        for (message in connection.incoming) connection.send(message)
                                    }
                                serving.join()
                            }
                        }
                    }
                told { pinged(client) } shouldBe "ping\n"
                running.cancelAndJoin()
            }
        }

        test("should exchange messages in registered buffers") {
            served({ server ->
                server.serve(this) { connection ->
                    connection.pd.bufferPool { access(LOCAL_WRITE, REMOTE_READ) }.use { pool ->
                        pool.take(1.MiB).use { buffer ->
                            while (true) {
                                // null once the client has finished
                                val length = connection.receiveOrNull(buffer) ?: break
                                connection.send(buffer, length)
                            }
                        }
                    }
                }
            }) { connection ->
                connection.pd.bufferPool { access(LOCAL_WRITE, REMOTE_READ) }.use { pool ->
                    pool.take(64.KiB).use { buffer ->
                        buffer.memory.fill(7)
                        connection.send(buffer)
                        buffer.memory.fill(0)
                        connection.receive(buffer) shouldBe 64.KiB
                        buffer.readByteArray(0, 2) shouldBe byteArrayOf(7, 7)
                    }
                }
            }
        }

        test("should receive several large messages at once") {
            val stored = AtomicLong()

            fun store(
                buffer: RegisteredBuffer,
                length: Long,
            ) {
                buffer.readByteArray(0, length).all { it == 7.toByte() } shouldBe true
                stored.addAndGet(length)
            }
            coroutineScope {
                val running =
                    launch(Dispatchers.Default) {
                        rdmaHost { dispatcher { strategy(WaitStrategy.busy()) } }.use { host ->
                            host.bind(7471) { channel { fetchAhead(0) } }.use { server ->
                                val serving =
                                    server.serve(this) { connection ->
                                        connection.pd.bufferPool().use { pool ->
                                            coroutineScope {
                                                repeat(4) {
                                                    launch {
                                                        pool.take(1.MiB).use { buffer ->
                                                            while (true) {
                                                                val length = connection.receiveOrNull(buffer) ?: break
                                                                store(buffer, length)
                                                            }
                                                        }
                                                    }
                                                }
                                            }
                                        }
                                    }
                                serving.join()
                            }
                        }
                    }
                rdmaHost().use { client ->
                    whenServed { client.connectMessages("198.18.0.1", 7471) }.use { connection ->
                        val message = ByteArray(1.MiB.toInt()) { 7 }
                        repeat(20) { connection.send(message) }
                        connection.finish()
                        connection.receiveOrNull() shouldBe null // the server's handler has returned
                        stored.get() shouldBe 20.MiB
                        connection.disconnect()
                    }
                }
                running.cancelAndJoin()
            }
        }

        test("should serve within limits") {
            val token = ""
            val log = System.getLogger("org.kverbs.samples")

            suspend fun answer(connection: MessageConnection) {
                for (message in connection.incoming) connection.send(message)
            }

            hosted { host ->
                val running =
                    launch {
                        host
                            .bind(7471) {
                                maxConnections(1000)
                                maxMessageSize(1.MiB)
                                maxMemory(256.MiB)
                                idleTimeout(60.seconds)
                                authorize { request -> request.privateData.decodeToString().startsWith(token) }
                                onFailure { failure -> log.log(WARNING, "a connection failed", failure) }
                            }.use { server -> server.serve(this) { connection -> answer(connection) }.join() }
                    }
                told { pinged(host) } shouldBe "ping\n"
                running.cancelAndJoin()
            }
        }

        test("should stop") {
            hosted { host ->
                host.bind(7471).use { server ->
                    val serving = launch { echo(server) }
                    val connected = CompletableDeferred<Unit>()
                    val client =
                        launch {
                            host.connectMessages("198.18.0.1", 7471).use { connection ->
                                connected.complete(Unit)
                                connection.finish()
                                connection.receiveOrNull() shouldBe null
                                connection.disconnect()
                            }
                        }
                    connected.await()
                    server.stop(30.seconds)
                    serving.join()
                    client.join()
                }
            }
        }

        test("should tell handlers that wait for messages to stop") {
            hosted { host ->
                host.bind(7471).use { server ->
                    val serving =
                        launch {
                            server.serve(this) { connection ->
                                while (true) {
                                    val question =
                                        select<ByteArray?> {
                                            // null once the client has ended
                                            connection.incoming.onReceiveCatching { it.getOrNull() }
                                            server.stopping.onJoin { null }
                                        } ?: break
                                    connection.send(question)
                                }
                            }
                        }
                    host.connectMessages("198.18.0.1", 7471).use { connection ->
                        connection.send("ping".encodeToByteArray())
                        connection.receive().decodeToString() shouldBe "ping"
                        val stopping = launch { server.stop(10.minutes) }
                        connection.receiveOrNull() shouldBe null
                        connection.disconnect()
                        stopping.join()
                    }
                    serving.join()
                }
            }
        }

        test("should keep what came when the time was over") {
            served(echo) { connection ->
                connection.send("late".encodeToByteArray())
                var answer: ByteArray? = null
                withTimeoutOrNull(10.seconds) { answer = connection.receive() }
                answer?.decodeToString() shouldBe "late"
            }
        }

        test("should send types") {
            val text =
                told {
                    served({ server ->
                        server.serve(this) { connection ->
                            val orders = connection.typed<Order, Receipt>() // receives orders, sends receipts
                            orders.incoming.collect { order -> orders.send(Receipt(3 * order.count)) }
                        }
                    }) { connection ->
                        val orders = connection.typed<Receipt, Order>()
                        orders.send(Order("bolt", 12))
                        println("${orders.receive().cents} cents")
                    }
                }
            text shouldBe "36 cents\n"
        }

        test("should answer requests, and by flows") {
            val text =
                told {
                    served({ server ->
                        server.serve(this) { connection ->
                            connection.answerRequests {
                                answer(price) { order -> Receipt(3 * order.count) }
                                answer(stock) { flowOf("bolt", "nut") }
                            }
                        }
                    }) { connection ->
                        connection.requests {
                            val calls = (1..100).map { async { call(price, Order("bolt", it), timeout = 10.seconds) } }
                            println("${calls.awaitAll().sumOf { it.cents }} cents")
                            stream(stock, Unit).collect { println(it) }
                        }
                    }
                }
            text shouldBe "15150 cents\nbolt\nnut\n"
        }

        test("should stream bytes") {
            val folder = tempdir()
            val source = File(folder, "source").apply { writeBytes(ByteArray(300_000) { it.toByte() }) }
            val (file, copy) = listOf("source", "copy").map { Path("$folder/$it") }
            served({ server ->
                server.serve(this) { connection ->
                    SystemFileSystem.sink(copy).use { connection.transferTo(it) } // until the peer has finished
                }
            }) { connection ->
                SystemFileSystem.source(file).use { connection.transferFrom(it) }
                connection.finish()
                connection.receiveOrNull() shouldBe null
            }
            File("$copy").readBytes().contentEquals(source.readBytes()) shouldBe true
        }

        test("should share memory") {
            val text =
                told {
                    served({ server ->
                        server.serve(this) { connection ->
                            connection.publish(
                                "board",
                                64,
                                REMOTE_READ,
                                REMOTE_WRITE,
                            ) { setString(0, "Nobody was here") }
                            connection.receiveOrNull() // null once the client has finished
                        }
                    }) { connection ->
                        val board = connection.awaitRemote("board")
                        board.write("Kilroy".encodeToByteArray(), offset = 0)
                        println(board.read(offset = 0, length = 15).decodeToString())
                    }
                }
            text shouldBe "Kilroy was here\n"
        }

        test("should come back") {
            val jobs = MutableList(3) { byteArrayOf(it.toByte()) }
            val results = mutableListOf<ByteArray>()
            hosted { host ->
                host.bind(7471) { onFailure { } }.use { server ->
                    var lost = false
                    val serving =
                        server.serve(this) { connection ->
                            for (message in connection.incoming) {
                                connection.send(message)
                                if (!lost && message[0] == 1.toByte()) {
                                    lost = true
                                    connection.close()
                                }
                            }
                        }
                    host.reconnecting("198.18.0.1", 7471, { backOff(100.milliseconds, 10.seconds) }) { connection ->
                        while (jobs.isNotEmpty()) {
                            connection.send(jobs.first())
                            results += connection.receive()
                            jobs.removeFirst() // done: after a loss the block goes on behind it
                        }
                    }
                    serving.cancelAndJoin()
                }
            }
            results.map { it[0].toInt() } shouldContainExactly listOf(0, 1, 2)
        }

        test("should serve in Java") {
            val printed = ByteArrayOutputStream()
            val console = System.out
            System.setOut(PrintStream(printed, true))
            try {
                ServicesSnippets.echo("embedded0")
            } finally {
                System.setOut(console)
            }
            printed.toString() shouldBe "ping\n"
        }
    })
