package org.kverbs.samples

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import org.kverbs.coroutines.rdmaClient

class KeyValueSpec :
    FunSpec({
        test("should be one table for clients that come by different devices") {
            coroutineScope {
                val port = CompletableDeferred<Int>()
                val server = launch { KeyValueServer().serve(0, "embedded0") { port.complete(it.port) } }
                rdmaClient("198.18.0.1", port.await(), "embedded0") { first ->
                    rdmaClient("198.18.0.2", port.await(), "embedded1") { second ->
                        first.put("colour", "red") shouldBe true
                        second.remote("table").get("colour") shouldBe "red"
                        second.put("colour", "blue") shouldBe true
                        first.remote("table").get("colour") shouldBe "blue"
                    }
                }
                server.cancel()
            }
        }
    })
