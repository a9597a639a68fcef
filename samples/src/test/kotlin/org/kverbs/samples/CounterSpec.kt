package org.kverbs.samples

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch

class CounterSpec :
    FunSpec({
        timeout = 60_000

        test("should give each client of several devices numbers that no other client gets") {
            coroutineScope {
                val port = CompletableDeferred<Int>()
                val server = launch { counterServer(0, "embedded0") { port.complete(it.port) } }
                val numbers =
                    listOf("198.18.0.1" to "embedded0", "198.18.0.2" to "embedded1")
                        .map { (host, device) -> async { count(host, port.await(), 3, 50, device) } }
                        .awaitAll()
                        .flatten()
                numbers.sorted() shouldBe List(300) { it.toLong() }
                server.cancel()
            }
        }
    })
