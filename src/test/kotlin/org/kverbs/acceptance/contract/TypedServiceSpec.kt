package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.asFlow
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.io.Buffer
import kotlinx.io.readByteArray
import kotlinx.rpc.krpc.serialization.json.json
import kotlinx.rpc.registerService
import kotlinx.rpc.withService
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.rdmaClient
import org.kverbs.coroutines.rdmaServer
import org.kverbs.coroutines.transferFrom
import org.kverbs.coroutines.transferTo
import org.kverbs.krpc.krpcClient
import org.kverbs.krpc.serveKrpc
import org.kverbs.samples.krpc.Headline
import org.kverbs.samples.krpc.News
import org.kverbs.samples.krpc.Newsroom
import org.kverbs.serialization.RequestTimeoutException
import org.kverbs.serialization.answerRequests
import org.kverbs.serialization.method
import org.kverbs.serialization.requests
import org.kverbs.serialization.streamMethod
import org.kverbs.serialization.typed
import kotlin.random.Random
import kotlin.time.Duration.Companion.milliseconds

/**
 * Checks typed messages, byte streams, requests and kotlinx-rpc services over connections, with both ends in this
 * process.
 */
internal class TypedServiceSpec :
    ContractSpec({
        case("should carry typed messages both ways") {
            val sums =
                served({ connection ->
                    val typed = connection.typed<List<Int>, Map<String, Int>>()
                    typed.incoming.collect { typed.send(mapOf("sum" to it.sum())) }
                }) { connection ->
                    val typed = connection.typed<Map<String, Int>, List<Int>>()
                    List(10) { size ->
                        typed.send(List(size * 1000) { 1 })
                        typed.receive()
                    }
                }
            sums shouldBe List(10) { mapOf("sum" to it * 1000) }
        }

        case("should carry a stream of bytes") {
            val bytes = Random(1).nextBytes(1_000_003)
            val received = Buffer()
            served({ it.transferFrom(Buffer().apply { write(bytes) }) }) { it.transferTo(received) }
            received.readByteArray().contentEquals(bytes) shouldBe true
        }

        case("should answer requests and streams beside each other, and end late ones") {
            val reverse = method<String, String>("reverse")
            val count = streamMethod<Int, Int>("count")
            val sleep = method<Unit, Unit>("sleep")
            served({ connection ->
                connection.answerRequests {
                    answer(reverse) { it.reversed() }
                    answer(count) { (1..it).asFlow() }
                    answer(sleep) { awaitCancellation() }
                }
            }) { connection ->
                connection.requests {
                    val numbers = async { stream(count, 500).toList() }
                    List(100) { async { call(reverse, "call $it") } }.awaitAll() shouldBe
                        List(100) { "call $it".reversed() }
                    numbers.await() shouldBe (1..500).toList()
                    shouldThrow<RequestTimeoutException> { call(sleep, Unit, timeout = 50.milliseconds) }
                    call(reverse, "no") shouldBe "on"
                }
            }
        }

        case("should call the functions of a kotlinx-rpc service, and collect its flow") {
            served({ connection ->
                connection.serveKrpc({ serialization { json() } }) { registerService<News> { Newsroom() } }
            }) { connection ->
                connection.krpcClient({ serialization { json() } }) { client ->
                    val news = client.withService<News>()
                    news.latest("rdma").text shouldBe "all about rdma"
                    shouldThrow<Exception> { news.latest("weather") }.message shouldContain "no weather today"
                    news.archive("rdma", 300).toList() shouldBe List(300) { Headline("rdma", "page ${it + 1}") }
                }
            }
        }
    })

/** Returns the result of a client that is connected to a server on the device. */
private fun <R> Bench.served(
    handler: suspend CoroutineScope.(MessageConnection) -> Unit,
    client: suspend CoroutineScope.(MessageConnection) -> R,
): R =
    runBlocking(Dispatchers.Default) {
        val port = CompletableDeferred<Int>()
        val server =
            launch { rdmaServer(0, device.name, onListening = { port.complete(it.port) }, handler = handler) }
        rdmaClient(ip, port.await(), device.name, block = client).also { server.cancelAndJoin() }
    }
