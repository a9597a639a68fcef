package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.async
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.withTimeout
import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionOpcode
import org.kverbs.WorkCompletionStatus
import org.kverbs.attributes.AccessFlag
import org.kverbs.dsl.get
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Failure
import java.net.InetSocketAddress
import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit
import kotlin.coroutines.CoroutineContext
import kotlin.time.Duration.Companion.seconds

private suspend fun onTwoHosts(block: suspend (loseNextSend: () -> Unit, serving: RdmaHost, host: RdmaHost) -> Unit) =
    EmbeddedFabric.realTime(1).use { fabric ->
        val (device, other) = List(2) { fabric.addDevice() }
        val lost = Failure.of(WorkCompletionOpcode.SEND, WorkCompletionStatus.RETRY_EXC_ERR)
        rdmaHost { device(device) }.use { serving ->
            rdmaHost { device(other) }.use { host -> block({ fabric.inject(device, lost) }, serving, host) }
        }
    }

/** Runs coroutines some time after they are resumed. */
private object Late : CoroutineDispatcher() {
    override fun dispatch(
        context: CoroutineContext,
        block: Runnable,
    ) {
        CompletableFuture.delayedExecutor(30, TimeUnit.MILLISECONDS).execute(block)
    }
}

/** Tests that the failed requests of a connection name its peer, as a server has many. */
class PeerOfFailureSpec :
    FunSpec({
        timeout = 60_000

        test("should name the client whose connection failed to a server's onFailure") {
            onTwoHosts { loseNextSend, serving, host ->
                val failures = Channel<Throwable>(Channel.UNLIMITED)
                serving.bind(InetSocketAddress("198.18.0.1", 0)) { onFailure { failures.trySend(it) } }.use { server ->
                    coroutineScope {
                        val job =
                            server.serve(this) { connection ->
                                for (message in connection.incoming) {
                                    loseNextSend()
                                    connection.send(message)
                                }
                            }
                        val client = host.connectMessages(server.address)
                        client.send(ByteArray(1))
                        val failure = withTimeout(20.seconds) { failures.receive() }
                        failure.shouldBeInstanceOf<WorkCompletionException>().message shouldContain
                            "; the peer is ${client.localAddress.shown()}"
                        job.cancel()
                    }
                }
            }
        }

        suspend fun shouldNameClosed(
            settings: ServerBuilder.() -> Unit,
            use: suspend (MessageConnection) -> Unit,
        ) = onTwoHosts { _, serving, host ->
            val failures = Channel<Throwable>(Channel.UNLIMITED)
            val all: ServerBuilder.() -> Unit = {
                onFailure { failures.trySend(it) }
                settings()
            }
            serving.bind(InetSocketAddress("198.18.0.1", 0), all).use { server ->
                coroutineScope {
                    val job = server.serve(this) { connection -> while (true) connection.receive() }
                    val client = host.connectMessages(server.address)
                    use(client)
                    client.close()
                    val failure = withTimeout(20.seconds) { failures.receive() }
                    failure.shouldBeInstanceOf<ChannelClosedException>().message shouldContain
                        "; the peer is ${client.localAddress.shown()}"
                    job.cancel()
                }
            }
        }

        test("should name the client that closed in the middle to a server's onFailure") {
            shouldNameClosed({}) { it.send(ByteArray(1)) }
        }

        test("should name a client that is gone before the server's side of the connection is up") {
            shouldNameClosed({ handlerContext(Late) }) { }
        }

        test("should name the client that broke the protocol to a server's onFailure") {
            onTwoHosts { _, serving, host ->
                val failures = Channel<Throwable>(Channel.UNLIMITED)
                serving.bind(InetSocketAddress("198.18.0.1", 0)) { onFailure { failures.trySend(it) } }.use { server ->
                    coroutineScope {
                        val isServed = CompletableDeferred<Unit>()
                        val job =
                            server.serve(this) { connection ->
                                isServed.complete(Unit)
                                while (true) connection.receive()
                            }
                        val liar =
                            host.connect(server.address) { privateData(ChannelHello(4, 4096, 1000).toBytes()) }
                        isServed.await()
                        liar.queuePair.send(liar.pd.memoryRegion(7)[0, 7])
                        val failure = withTimeout(20.seconds) { failures.receive() }
                        failure.shouldBeInstanceOf<ChannelProtocolException>().message shouldContain
                            "less than a header of 8; the peer is ${liar.localAddress.shown()}. Use the same"
                        job.cancel()
                    }
                }
            }
        }

        test("should name the peer of a connection whose request failed") {
            onTwoHosts { _, serving, host ->
                serving.listen(InetSocketAddress("198.18.0.1", 0)).use { listener ->
                    coroutineScope {
                        val accepted = async { listener.accept() }
                        val connection = host.connect(listener.address)
                        accepted.await()
                        val region = connection.pd.memoryRegion(64, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE)
                        val failure =
                            shouldThrow<WorkCompletionException> {
                                connection.queuePair.write(region[0, 8], RemoteMemory(4096, 8, 0x7fffff))
                            }
                        failure.message shouldContain "; the peer is ${listener.address.shown()}"
                        "$failure" shouldContain "org.kverbs.WorkCompletionException: work request"
                    }
                }
            }
        }
    })
