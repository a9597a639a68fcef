package org.kverbs.samples

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.rdmaClient
import org.kverbs.coroutines.rdmaServer
import org.kverbs.serialization.RemoteFailureException
import org.kverbs.serialization.answerRequests
import org.kverbs.serialization.method

class KeyValueSpec :
    FunSpec({
        timeout = 60_000

        suspend fun served(block: suspend (port: Int) -> Unit) =
            coroutineScope {
                val port = CompletableDeferred<Int>()
                val server = launch { KeyValueServer().serve(0, "embedded0") { port.complete(it.port) } }
                block(port.await())
                server.cancel()
            }

        suspend fun connected(block: suspend (MessageConnection) -> Unit) =
            served { port -> rdmaClient("198.18.0.1", port, "embedded0") { block(it) } }

        test("should share one table among clients of different devices") {
            served { port ->
                rdmaClient("198.18.0.1", port, "embedded0") { first ->
                    rdmaClient("198.18.0.2", port, "embedded1") { second ->
                        first.keyValues {
                            val other = this
                            put("colour", "red")
                            second.keyValues {
                                get("colour") shouldBe "red"
                                put("colour", "blue")
                                other.get("colour") shouldBe "blue"
                                get("shape") shouldBe null
                            }
                        }
                    }
                }
            }
        }

        for (value in listOf("x".repeat(49), "\u00e4".repeat(25))) {
            test("should refuse the value '$value' for the bytes that it has, and serve on") {
                connected { connection ->
                    connection.keyValues {
                        put("k", "old")
                        shouldThrow<RemoteFailureException> { put("k", value) }.message shouldContain "at most 48 bytes"
                        get("k") shouldBe "old"
                        put("gr\u00f6\u00dfe", "\u00e4".repeat(24))
                        get("gr\u00f6\u00dfe") shouldBe "\u00e4".repeat(24)
                        put("", "")
                        get("") shouldBe ""
                    }
                }
            }
        }

        test("should report that the table is full, and still change existing entries") {
            connected { connection ->
                connection.keyValues {
                    repeat(1024) { put("key $it", "$it") }
                    val failure = shouldThrow<RemoteFailureException> { put("one more", "") }
                    failure.message shouldContain "the table is full"
                    put("key 1023", "changed")
                    get("key 1023") shouldBe "changed"
                    get("key 0") shouldBe "0"
                }
            }
        }

        test("should give up on an entry whose change does not end, as after a server's crash") {
            coroutineScope {
                val port = CompletableDeferred<Int>()
                val server =
                    launch {
                        rdmaServer(0, "embedded0", onListening = { port.complete(it.port) }) { connection ->
                            connection.publish("table", 64) { fill(1) } // the version is odd
                            connection.answerRequests { answer(method<String, Place>("find")) { Place(0) } }
                        }
                    }
                rdmaClient("198.18.0.1", port.await(), "embedded0") { connection ->
                    connection.keyValues {
                        shouldThrow<IllegalStateException> { get("k") }.message shouldContain "was being changed"
                    }
                }
                server.cancel()
            }
        }
    })
