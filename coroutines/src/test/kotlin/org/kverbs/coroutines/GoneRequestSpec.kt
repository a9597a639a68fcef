package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.kverbs.RdmaSystemException
import org.kverbs.cm.ConnectionEventType.REJECTED
import org.kverbs.cm.ConnectionException
import org.kverbs.cm.ConnectionStep
import java.net.InetSocketAddress
import java.util.concurrent.LinkedBlockingQueue
import kotlin.coroutines.CoroutineContext

/** Tests requests that cannot be accepted: the peer is gone, the request was answered, or the answer is too long. */
class GoneRequestSpec :
    FunSpec({
        timeout = 60_000

        suspend fun asked(block: suspend CoroutineScope.(RdmaHost, RdmaListener, InetSocketAddress) -> Unit) =
            rdmaHost { provider("embedded") }.use { server ->
                rdmaHost { provider("embedded") }.use { client ->
                    val listener = server.listen(InetSocketAddress("0.0.0.0", 0))
                    coroutineScope { block(client, listener, InetSocketAddress("127.0.0.1", listener.address.port)) }
                }
            }

        test("should report that the peer is gone when it left before the accept") {
            asked { client, listener, address ->
                val asking = launch { client.connect(address) }
                val request = listener.awaitRequest()
                asking.cancelAndJoin()
                request.steps.events
                    .receive()
                    .type() shouldBe REJECTED // the connection manager knows of the end
                val failure = shouldThrow<ConnectionException> { request.accept() }
                failure.step() shouldBe ConnectionStep.ACCEPT
                failure.address() shouldBe request.remoteAddress
                failure.message shouldContain "the peer has gone"
            }
        }

        test("should report that the peer is gone when it left while the connection was being prepared") {
            asked { client, listener, address ->
                val asking = launch(Dispatchers.Default) { client.connect(address) }
                val request = listener.awaitRequest()
                val failure =
                    shouldThrow<ConnectionException> {
                        request.accept {
                            prepared {
                                runBlocking {
                                    asking.cancelAndJoin()
                                    request.steps.events.receive()
                                }
                            }
                        }
                    }
                failure.message shouldContain "the peer has gone"
            }
        }

        test("should report that the peer is gone when it left between its answer and the client's next step") {
            asked { client, listener, address ->
                val steps = LinkedBlockingQueue<Runnable>()
                val held =
                    object : CoroutineDispatcher() {
                        override fun dispatch(
                            context: CoroutineContext,
                            block: Runnable,
                        ) {
                            steps.add(block)
                        }
                    }
                val asking = CoroutineScope(held).async { runCatching { client.connect(address) } }
                val requested = async(Dispatchers.Default) { listener.awaitRequest() }
                while (!requested.isCompleted) {
                    steps.poll()?.run()
                    delay(1)
                }
                val accepting = launch(Dispatchers.Default) { requested.await().accept() }
                while (steps.isEmpty()) delay(1) // the answer has arrived
                accepting.cancelAndJoin()
                delay(200) // time for the end to arrive; if it arrives later, nothing here fails
                while (!asking.isCompleted) {
                    steps.poll()?.run()
                    delay(1)
                }
                asking.await().exceptionOrNull().shouldBeInstanceOf<ConnectionException>()
            }
        }

        test("should not report an answer that is too long as a peer that is gone") {
            asked { client, listener, address ->
                val asking = async { runCatching { client.connect(address) } }
                val request = listener.awaitRequest()
                val failure = shouldThrow<RdmaSystemException> { request.accept { privateData(ByteArray(197)) } }
                failure.message shouldContain "at most 196 bytes"
                asking.await().exceptionOrNull().shouldBeInstanceOf<ConnectionException>()
            }
        }

        test("should refuse to be accepted twice, and keep the connection") {
            asked { client, listener, address ->
                val asking = async { client.connect(address) }
                val request = listener.awaitRequest()
                val accepted = request.accept()
                shouldThrow<IllegalStateException> { request.accept() }.message shouldContain "answered already"
                asking.await().disconnect()
                accepted.awaitEnd()
            }
        }

        test("should report a client that left before the accept, and keep serving") {
            val isAsked = CompletableDeferred<Unit>()
            val hasGone = CompletableDeferred<Unit>()
            val failure = CompletableDeferred<Throwable>()
            rdmaHost { provider("embedded") }.use { host ->
                coroutineScope {
                    val server =
                        host.bind(0) {
                            authorize {
                                isAsked.complete(Unit)
                                hasGone.await()
                                true
                            }
                            onFailure { failure.complete(it) }
                        }
                    server.serve(this) { connection -> for (message in connection.incoming) connection.send(message) }
                    val address = InetSocketAddress("127.0.0.1", server.address.port)
                    rdmaHost { provider("embedded") }.use { client ->
                        val asking = launch { client.connectMessages(address) }
                        isAsked.await()
                        asking.cancelAndJoin()
                        hasGone.complete(Unit)
                        failure.await().shouldBeInstanceOf<ConnectionException>().step() shouldBe ConnectionStep.ACCEPT
                        val next = client.connectMessages(address)
                        next.send("still there".encodeToByteArray())
                        next.receive().decodeToString() shouldBe "still there"
                        next.disconnect()
                    }
                    server.close()
                }
            }
        }
    })
