package org.kverbs.krpc

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.job
import kotlinx.coroutines.launch
import kotlinx.rpc.krpc.KrpcTransportMessage.BinaryMessage
import kotlinx.rpc.krpc.KrpcTransportMessage.StringMessage
import org.kverbs.RdmaException
import org.kverbs.coroutines.ChannelClosedException
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.bind
import org.kverbs.coroutines.connectMessages
import org.kverbs.testkit.connectedHosts

class ConnectionTransportSpec :
    FunSpec({
        timeout = 60_000

        fun connected(
            handler: suspend CoroutineScope.(MessageConnection) -> Unit,
            block: suspend CoroutineScope.(MessageConnection) -> Unit,
        ): Unit =
            connectedHosts { client, server ->
                server.bind(serverAddress(7471)).serve(backgroundScope, handler)
                client.connectMessages(serverAddress(7471)).use { connection ->
                    coroutineScope { block(connection) }
                    connection.disconnect()
                }
            }

        fun CoroutineScope.transport(
            connection: MessageConnection,
            endsCleanly: Boolean = false,
        ) = ConnectionTransport(connection, this, endsCleanly)

        test("should carry texts as texts and bytes as bytes") {
            connected({ connection ->
                val transport = transport(connection, endsCleanly = true)
                repeat(4) { transport.send(transport.receive()) }
                transport.coroutineContext.job.cancel()
            }) { connection ->
                val transport = transport(connection)
                for (text in listOf("", "äöü", "x".repeat(100_000))) {
                    transport.send(StringMessage(text))
                    transport.receive().shouldBeInstanceOf<StringMessage>().value shouldBe text
                }
                transport.send(BinaryMessage(byteArrayOf(1, 2)))
                transport.receive().shouldBeInstanceOf<BinaryMessage>().value.toList() shouldBe listOf<Byte>(1, 2)
                transport.coroutineContext.job.cancel()
            }
        }

        test("should end a server's transport but not the scope around it when the client has finished") {
            val ended = CompletableDeferred<Throwable?>()
            connected({ connection ->
                val transport = transport(connection, endsCleanly = true)
                shouldThrow<CancellationException> { transport.receive() }
                transport.coroutineContext.job.join()
                ended.complete(runCatching { coroutineContext.job.isActive shouldBe true }.exceptionOrNull())
            }) { }
            ended.await() shouldBe null
        }

        test("should fail the scope around a client's transport when the server finishes") {
            connected({ }) { connection ->
                shouldThrow<ChannelClosedException> {
                    coroutineScope {
                        val transport = transport(connection)
                        launch { runCatching { transport.receive() } }
                        awaitCancellation()
                    }
                }
            }
        }

        test("should refuse kRPC on a connection that carries another protocol") {
            connected({ }) { connection ->
                connection.claimMessages("requests") shouldBe null
                shouldThrow<IllegalStateException> { connection.krpcClient({ }) { } }.message shouldContain
                    "carries requests already"
                shouldThrow<IllegalStateException> { connection.serveKrpc({ }) { } }.message shouldContain
                    "carries requests already"
            }
        }

        for (message in listOf(byteArrayOf(), byteArrayOf(7, 1), byteArrayOf(-1))) {
            test("should fail the scope around a transport whose peer sends ${message.toList()}") {
                val outcome = CompletableDeferred<Throwable?>()
                connected({ connection ->
                    val ended =
                        runCatching {
                            coroutineScope {
                                val transport = transport(connection, endsCleanly = true)
                                launch { runCatching { transport.receive() } }
                                awaitCancellation()
                            }
                        }
                    outcome.complete(ended.exceptionOrNull())
                }) { connection ->
                    connection.send(message)
                    outcome.await()
                }
                outcome.await().shouldBeInstanceOf<RdmaException>().message shouldContain "speaks no kRPC"
            }
        }
    })
