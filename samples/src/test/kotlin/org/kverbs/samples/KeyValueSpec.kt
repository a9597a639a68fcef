package org.kverbs.samples

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import org.kverbs.AccessFlag
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.rdmaClient
import org.kverbs.coroutines.rdmaServer

class KeyValueSpec :
    FunSpec({
        timeout = 60_000

        test("should be one table for clients that come by different devices") {
            coroutineScope {
                val port = CompletableDeferred<Int>()
                val server = launch { KeyValueServer().serve(0, "embedded0") { port.complete(it.port) } }
                rdmaClient("198.18.0.1", port.await(), "embedded0") { first ->
                    rdmaClient("198.18.0.2", port.await(), "embedded1") { second ->
                        first.put("colour", "red") shouldBe true
                        second.awaitRemote("table").get("colour") shouldBe "red"
                        second.put("colour", "blue") shouldBe true
                        first.awaitRemote("table").get("colour") shouldBe "blue"
                    }
                }
                server.cancel()
            }
        }

        suspend fun served(block: suspend (MessageConnection) -> Unit) =
            coroutineScope {
                val port = CompletableDeferred<Int>()
                val server = launch { KeyValueServer().serve(0, "embedded0") { port.complete(it.port) } }
                rdmaClient("198.18.0.1", port.await(), "embedded0") { block(it) }
                server.cancel()
            }

        for (request in listOf("k=" + "x".repeat(100), "k".repeat(60) + "=", "k=" + "\u00e4".repeat(27), "k", "=x", "")) {
            test("should refuse '$request' from a client of anybody's, and serve on") {
                served { connection ->
                    connection.send(request.encodeToByteArray())
                    connection.receive().decodeToString() shouldContain "at most 54 bytes"
                    connection.put("k", "v") shouldBe true
                    connection.awaitRemote("table").get("k") shouldBe "v"
                }
            }
        }

        test("should count the bytes of a key and a value, not their letters") {
            served { connection ->
                connection.put("gr\u00f6\u00dfe", "drei\u00dfig") shouldBe true
                connection.awaitRemote("table").get("gr\u00f6\u00dfe") shouldBe "drei\u00dfig"
                shouldThrow<IllegalArgumentException> { connection.put("k", "\u00e4".repeat(27)) }.message shouldContain "54 bytes"
                shouldThrow<IllegalArgumentException> { connection.put("k=", "v") }.message shouldContain "is no key"
            }
        }

        test("should give up on an entry whose change does not end, as that of a server that died in it") {
            coroutineScope {
                val port = CompletableDeferred<Int>()
                val server =
                    launch {
                        rdmaServer(0, "embedded0", onListening = { port.complete(it.port) }) { connection ->
                            val table = connection.pd.memoryRegion(TABLE_BYTES, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ)
                            table.memory().fill(1) // all versions are odd
                            connection.publish("table", table)
                            for (message in connection.incoming) connection.send(message)
                        }
                    }
                rdmaClient("198.18.0.1", port.await(), "embedded0") {
                    shouldThrow<IllegalStateException> { it.awaitRemote("table").get("k") }.message shouldContain "was being changed"
                }
                server.cancel()
            }
        }
    })

private const val TABLE_BYTES = 64L * 1024
