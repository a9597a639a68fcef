package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldStartWith
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.selects.select
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.cm.ConnectionException
import org.kverbs.cm.ConnectionRejectedException
import kotlin.coroutines.CoroutineContext
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds

/**
 * Holds what is dispatched by what runs on it, such as the coroutines that a server launches, until it lets go; from
 * then on it holds nothing.
 */
private class Holding : CoroutineDispatcher() {
    private val isInside = ThreadLocal.withInitial { false }
    private val held = ArrayList<Runnable>()
    private var isHolding = true
    val holds = Channel<Unit>(Channel.UNLIMITED)

    override fun dispatch(
        context: CoroutineContext,
        block: Runnable,
    ) {
        if (!isInside.get() || !hold(block)) Dispatchers.Default.dispatch(context) { inside(block) }
    }

    private fun hold(block: Runnable): Boolean =
        synchronized(held) {
            if (isHolding) {
                held.add(block)
                holds.trySend(Unit)
            }
            isHolding
        }

    private fun inside(block: Runnable) {
        isInside.set(true)
        try {
            block.run()
        } finally {
            isInside.set(false)
        }
    }

    fun letGo() {
        synchronized(held) { isHolding = false }
        held.forEach { it.run() }
    }
}

/** The ways in which a server and its serving end. */
class RdmaServerStopSpec :
    FunSpec({
        timeout = 120_000

        test(
            "should reject a taken request when serving is cancelled, whether its coroutine has begun or not",
        ) {
            for (handlers in listOf(Dispatchers.Default, Holding())) {
                val isAsked = Channel<Unit>(Channel.UNLIMITED)
                bound({
                    handlerContext(handlers)
                    authorize {
                        isAsked.send(Unit)
                        awaitCancellation()
                    }
                }) { server, host, address ->
                    val serving = server.serve(this, ECHO)
                    val asking = async { runCatching { host.connectMessages(address) { timeout(1.minutes) } } }
                    (if (handlers is Holding) handlers.holds else isAsked).receive()
                    serving.cancel()
                    (handlers as? Holding)?.letGo()
                    serving.join()
                    asking.await().exceptionOrNull().shouldBeInstanceOf<ConnectionRejectedException>()
                }
            }
        }

        test("should on stop let running handlers end by themselves and accept no more clients") {
            bound { server, host, address ->
                val serving = server.serve(this) { it.send(it.receive()) }
                val client = host.connectMessages(address)
                server.endOf(client)
                val stopping = launch { server.stop(5.minutes) }
                withTimeout(20.seconds) {
                    while (runCatching {
                            host
                                .connectMessages(
                                    address,
                                ).close()
                        }.exceptionOrNull() !is ConnectionException
                    ) {
                        delay(1)
                    }
                }
                stopping.isActive shouldBe true
                client.ask("still there") shouldBe "still there"
                client.disconnect()
                joinAll(stopping, serving)
                serving.isCancelled shouldBe false
            }
        }

        test("should cancel handlers that still run at the timeout of a stop") {
            bound { server, host, address ->
                val ended = CompletableDeferred<Unit>()
                val serving =
                    server.serve(this) {
                        try {
                            awaitCancellation()
                        } finally {
                            ended.complete(Unit)
                        }
                    }
                val client = host.connectMessages(address)
                server.endOf(client)
                server.stop(1.seconds)
                ended.await()
                client.awaitEnd()
                serving.join()
                client.close()
            }
        }

        test("should end serving without an exception when its host is closed") {
            rdmaHost { provider("embedded") }.use { host ->
                coroutineScope {
                    val serving = host.bind(0).serve(this, ECHO)
                    delay(1)
                    host.close()
                    serving.join()
                }
            }
        }

        test("should tell its handlers about a stop, so that they end in good order before the timeout") {
            bound { server, host, address ->
                server.serve(this) { connection ->
                    while (true) {
                        val question =
                            select<ByteArray?> {
                                connection.incoming.onReceiveCatching { it.getOrNull() }
                                server.stopping.onJoin { null }
                            } ?: break
                        connection.send(question)
                    }
                }
                server.stopping.isCompleted shouldBe false
                val client = host.connectMessages(address)
                client.ask("up") shouldBe "up"
                val stopping = launch { server.stop(10.minutes) }
                client.receiveOrNull() shouldBe null
                client.disconnect()
                stopping.join()
                server.stats.failed shouldBe 0
            }
        }

        test("should complete stopping when it is closed") {
            bound { server, _, _ ->
                server.serve(this, ECHO)
                server.close()
                server.stopping.join()
            }
        }

        test("should return from stop only when all handlers and connections have ended, also the cancelled ones") {
            bound { server, host, address ->
                server.serve(this) {
                    it.send(ByteArray(1))
                    try {
                        awaitCancellation()
                    } finally {
                        withContext(NonCancellable) { delay(100) }
                    }
                }
                host.connectMessages(address).use {
                    it.receive()
                    server.stop(1.milliseconds)
                    server.stats.copy(accepted = 0) shouldBe ServerStats(0, 0, 0, 0, 0, 0)
                    server.connections.shouldBeEmpty()
                }
            }
        }

        test(
            "should log the client whose handler ignores its cancellation, while stop waits for the handler",
        ) {
            val mayEnd = CompletableDeferred<Unit>()
            bound { server, host, address ->
                server.serve(this) {
                    it.send(ByteArray(1))
                    withContext(NonCancellable) { mayEnd.await() }
                }
                val client = host.connectMessages(address)
                client.receive()
                withTimeoutOrNull(1.milliseconds) { server.stop(1.milliseconds) } shouldBe null
                logged { log ->
                    val stopping = launch { server.stop(1.milliseconds) }
                    try {
                        withTimeout(20.seconds) { while (log.lines.isEmpty()) delay(1) }
                        stopping.isActive shouldBe true
                    } finally {
                        mayEnd.complete(Unit)
                    }
                    stopping.join()
                    log.lines.single() shouldStartWith "$server was stopped, and does not end: "
                    log.lines.single() shouldContain "of the clients ${client.localAddress.shown()}"
                }
            }
        }
    })
