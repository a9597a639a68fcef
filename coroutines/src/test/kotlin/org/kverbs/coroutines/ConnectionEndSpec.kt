package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.kverbs.RdmaException
import org.kverbs.attributes.QueuePairState
import org.kverbs.cm.ConnectionException
import org.kverbs.dsl.modify
import java.net.InetSocketAddress

/**
 * Tests the messages received when the connection manager reports the end before the polling thread has taken the last
 * messages.
 */
class ConnectionEndSpec :
    FunSpec({
        timeout = 120_000

        suspend fun endedUnseen(
            end: suspend (MessageConnection) -> Unit,
            block: suspend (MessageConnection) -> Unit,
        ) = coroutineScope {
            rdmaHost { provider("embedded") }.use { host ->
                host.bind(0).use { server ->
                    server.serve(this) { connection ->
                        connection.receive()
                        repeat(3) { connection.send(byteArrayOf(it.toByte())) }
                        end(connection)
                        connection.close()
                    }
                    rdmaHost { provider("embedded") }.use { clients ->
                        clients.connectMessages(InetSocketAddress("127.0.0.1", server.address.port)).use { connection ->
                            val isHeld = CompletableDeferred<Unit>()
                            val holding =
                                launch(connection.node.dispatcher.coroutineDispatcher) {
                                    isHeld.complete(Unit)
                                    runBlocking { connection.awaitEnd() } // holds the polling thread
                                }
                            isHeld.await()
                            val waiting = async { connection.receive() }
                            connection.send(ByteArray(0))
                            holding.join()
                            waiting.await() shouldBe byteArrayOf(0)
                            repeat(2) { connection.receive() shouldBe byteArrayOf((it + 1).toByte()) }
                            block(connection)
                        }
                    }
                }
            }
        }

        test("should deliver the arrived messages, and then the orderly end of a peer that has finished") {
            endedUnseen({ it.finish() }) { connection ->
                connection.receiveOrNull() shouldBe null
                shouldThrow<RdmaException> { connection.send(ByteArray(1)) }
            }
        }

        test("should deliver the arrived messages, and then the failure of a peer that has not finished") {
            endedUnseen({}) { connection ->
                shouldThrow<RdmaException> { connection.receiveOrNull() }.shouldBeInstanceOf<ChannelClosedException>()
            }
        }

        test(
            "should report the end of the connection when the device flushes requests before the connection manager " +
                "reports it",
        ) {
            coroutineScope {
                rdmaHost { provider("embedded") }.use { host ->
                    host.bind(0).use { server ->
                        server.serve(this) { awaitCancellation() }
                        host.connectMessages(InetSocketAddress("127.0.0.1", server.address.port)).use { connection ->
                            val waits =
                                listOf<suspend () -> Unit>(
                                    { connection.receive() },
                                    { connection.awaitRemote("nothing") },
                                    { while (true) connection.send(ByteArray(1)) },
                                ).map {
                                    async(
                                        start = CoroutineStart.UNDISPATCHED,
                                    ) { runCatching { it() }.exceptionOrNull() }
                                }
                            connection.channel.queuePair.queuePair
                                .modify { state(QueuePairState.ERR) }
                            for (wait in waits) {
                                wait.await().shouldBeInstanceOf<ConnectionException>().message shouldContain
                                    "has ended"
                            }
                        }
                    }
                }
            }
        }
    })
