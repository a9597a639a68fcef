package org.kverbs.samples.krpc

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.onCompletion
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.rpc.RpcClient
import kotlinx.rpc.krpc.serialization.json.json
import kotlinx.rpc.registerService
import kotlinx.rpc.withService
import org.kverbs.RdmaException
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.bind
import org.kverbs.coroutines.connectMessages
import org.kverbs.krpc.krpcClient
import org.kverbs.krpc.serveKrpc
import org.kverbs.testkit.connectedHosts

class NewsSpec :
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

        suspend fun MessageConnection.serve(news: News) =
            serveKrpc({ serialization { json() } }) { registerService<News> { news } }

        suspend fun <R> MessageConnection.client(block: suspend CoroutineScope.(RpcClient) -> R): R =
            krpcClient({ serialization { json() } }, block)

        fun reading(
            news: News = Newsroom(),
            block: suspend CoroutineScope.(News) -> Unit,
        ): Unit = connected({ it.serve(news) }) { connection -> connection.client { block(it.withService<News>()) } }

        test("should answer a call of a service's function") {
            reading { it.latest("rdma") shouldBe Headline("rdma", "all about rdma") }
        }

        test("should collect a service's flow") {
            reading { news ->
                news.archive("rdma", 2500).toList() shouldBe List(2500) { Headline("rdma", "page ${it + 1}") }
            }
        }

        test("should answer many calls at the same time") {
            reading { news ->
                List(200) { async { news.latest("$it").text } }.awaitAll() shouldBe List(200) { "all about $it" }
            }
        }

        test("should fail the caller with the service's exception, and go on") {
            reading { news ->
                shouldThrow<Exception> { news.latest("weather") }.message shouldContain "no weather today"
                news.latest("sun").text shouldBe "all about sun"
            }
        }

        test("should cancel the service's flow when the collector has enough") {
            val ended = CompletableDeferred<Throwable?>()
            val endless =
                object : News by Newsroom() {
                    override fun archive(
                        topic: String,
                        count: Int,
                    ): Flow<Headline> =
                        flow { while (true) emit(Headline(topic, "again")) }.onCompletion { ended.complete(it) }
                }
            reading(endless) { news ->
                news.archive("x", 1).take(2).toList() shouldBe List(2) { Headline("x", "again") }
                ended.await()
                news.latest("y").text shouldBe "all about y"
            }
        }

        test("should refuse a second client, and a server, on a connection that carries kRPC") {
            connected({ it.serve(Newsroom()) }) { connection ->
                connection.client {
                    val refusal = shouldThrow<IllegalStateException> { connection.client { } }
                    refusal.message shouldContain "carries kRPC already"
                    shouldThrow<IllegalStateException> { connection.serve(Newsroom()) }
                    it.withService<News>().latest("rdma").text shouldBe "all about rdma"
                }
            }
        }

        test("should fail the client when the server finishes, or dies, in the middle of a call") {
            for (end in listOf<suspend (MessageConnection) -> Unit>({ }, { it.close() }, { error("handler fails") })) {
                val called = CompletableDeferred<Unit>()
                val slow =
                    object : News by Newsroom() {
                        override suspend fun latest(topic: String): Headline {
                            called.complete(Unit)
                            awaitCancellation()
                        }
                    }
                connected({ connection ->
                    val service = launch { connection.serve(slow) }
                    called.await()
                    service.cancelAndJoin()
                    end(connection)
                }) { connection ->
                    shouldThrow<RdmaException> { connection.client { it.withService<News>().latest("x") } }
                }
            }
        }

        test("should fail a call to a server that has finished before it") {
            connected({ }) { connection ->
                shouldThrow<RdmaException> { connection.client { it.withService<News>().latest("x") } }
            }
        }

        test("should end the service of a peer that does not use kRPC, with the reason") {
            val outcome = CompletableDeferred<Throwable?>()
            connected({ outcome.complete(runCatching { it.serve(Newsroom()) }.exceptionOrNull()) }) { connection ->
                connection.send("hello".encodeToByteArray())
                outcome.await()
            }
            outcome.await()!!.message shouldContain "speaks no kRPC: its message of 5 bytes begins with 104"
        }

        test("should end the service when its client finishes without a call") {
            val outcome = CompletableDeferred<Throwable?>()
            connected({ outcome.complete(runCatching { it.serve(Newsroom()) }.exceptionOrNull()) }) { connection ->
                connection.client { }
            }
            outcome.await() shouldBe null
        }
    })
