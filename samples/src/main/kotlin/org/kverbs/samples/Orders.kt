package org.kverbs.samples

import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.flow.asFlow
import kotlinx.coroutines.flow.toList
import kotlinx.serialization.Serializable
import org.kverbs.coroutines.rdmaClient
import org.kverbs.coroutines.rdmaServer
import org.kverbs.serialization.RemoteFailureException
import org.kverbs.serialization.RequestTimeoutException
import org.kverbs.serialization.answerRequests
import org.kverbs.serialization.method
import org.kverbs.serialization.requests
import org.kverbs.serialization.streamMethod
import java.net.InetSocketAddress
import kotlin.time.Duration.Companion.milliseconds

@Serializable
data class Order(
    val item: String,
    val count: Int,
)

@Serializable
data class Receipt(
    val cents: Int,
)

/** The methods of the shop; both sides use these declarations. */
private val order = method<Order, Receipt>("order")
private val stock = streamMethod<Unit, String>("stock")

private val prices = mapOf("bolt" to 3, "nut" to 2)

/** Answers each request in a coroutine of its own, in any order. */
suspend fun shop(
    port: Int,
    device: String? = null,
    onListening: (InetSocketAddress) -> Unit = {},
): Nothing =
    rdmaServer(port, device, onListening = onListening) { connection ->
        connection.answerRequests {
            answer(order) { (item, count) ->
                if (item == "ship") awaitCancellation() // takes long; the caller's timeout ends it here, too
                Receipt(count * (prices[item] ?: throw NoSuchElementException("no $item here")))
            }
            answer(stock) { prices.keys.asFlow() }
            onFailure { _, _ -> } // the client gets the failure
        }
    }

/** Buys at a [shop] with a hundred orders under way at the same time, and returns the shop's answers. */
suspend fun buy(
    host: String,
    port: Int,
    device: String? = null,
): List<String> =
    rdmaClient(host, port, device) { connection ->
        connection.requests {
            val items = stream(stock, Unit).toList()
            val receipts = (1..100).map { async { call(order, Order("bolt", it)) } }.awaitAll()
            listOf(
                "${items.joinToString()} in stock",
                "${receipts.sumOf { it.cents }} cents for ${receipts.size} orders",
                answerTo { call(order, Order("piano", 1)) },
                answerTo { call(order, Order("ship", 1), timeout = 50.milliseconds) },
            )
        }
    }

private suspend fun answerTo(request: suspend () -> Receipt): String =
    try {
        "${request().cents} cents"
    } catch (e: RemoteFailureException) {
        "refused: ${e.message}"
    } catch (e: RequestTimeoutException) {
        "too late: ${e.message}"
    }

/** Runs both ends in this program, on the device that the argument names or on the first one. */
fun main(args: Array<String>) =
    both(args.firstOrNull(), { name, onListening -> shop(0, name, onListening) }) { host, port, name ->
        buy(host, port, name).forEach { println("$name: $it") }
    }
