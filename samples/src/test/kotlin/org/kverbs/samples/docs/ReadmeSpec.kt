package org.kverbs.samples.docs

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import org.kverbs.ConnectionException
import org.kverbs.coroutines.MessageConnection
import org.kverbs.dsl.LOCAL_WRITE
import org.kverbs.dsl.RC
import org.kverbs.dsl.await
import org.kverbs.dsl.completionQueue
import org.kverbs.dsl.connect
import org.kverbs.dsl.endpoint
import org.kverbs.dsl.get
import org.kverbs.dsl.memoryRegion
import org.kverbs.dsl.post
import org.kverbs.dsl.postReceive
import org.kverbs.dsl.qp
import org.kverbs.dsl.send
import kotlin.time.Duration.Companion.milliseconds

// On the embedded device, whatever else this machine has.

private fun openDevice() = org.kverbs.dsl.openDevice("embedded0")

private suspend fun rdmaServer(
    port: Int,
    handler: suspend (MessageConnection) -> Unit,
): Unit = org.kverbs.coroutines.rdmaServer(port, "embedded0") { handler(it) }

private suspend fun rdmaClient(
    host: String,
    port: Int,
    block: suspend (MessageConnection) -> Unit,
) {
    while (true) {
        try {
            return org.kverbs.coroutines.rdmaClient(host, port, "embedded0") { block(it) }
        } catch (_: ConnectionException) {
            delay(10.milliseconds) // the server has only been launched
        }
    }
}

/** The snippets of README.md, which [SnippetsSpec] compares with it. */
class ReadmeSpec :
    FunSpec({
        timeout = 60_000

        val told = StringBuffer()

        fun println(line: Any) {
            told.append(line)
        }

        test("should send a message between two queue pairs") {
            told.setLength(0)
            openDevice().use { device ->
                val pd = device.protectionDomain()
                val cq = device.completionQueue { entries(16) }
                val (alice, bob) = List(2) { pd.qp(RC) { cq(cq) } }
                alice.connect(bob.endpoint())
                bob.connect(alice.endpoint())
                val region = pd.memoryRegion(128) { access(LOCAL_WRITE) }
                region.memory().setString(0, "Hello, RDMA")
                bob.postReceive(into = region[64, 64])
                alice.post { send(region[0, 64]) }
                println("${cq.await().single().orThrow().byteLength()} bytes came: ${region.memory().getString(64)}")
            }
            "$told" shouldBe "64 bytes came: Hello, RDMA"
        }

        test("should echo") {
            told.setLength(0)
            coroutineScope {
                val server =
                    launch {
                        rdmaServer(
                            port = 7471,
                        ) { connection -> for (message in connection.incoming) connection.send(message) }
                    }
                rdmaClient("198.18.0.1", 7471) { connection ->
                    connection.send("ping".encodeToByteArray())
                    println(connection.receive().decodeToString())
                }
                server.cancelAndJoin()
            }
            "$told" shouldBe "ping"
        }
    })
