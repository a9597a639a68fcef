package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import org.kverbs.Device
import org.kverbs.RdmaException
import org.kverbs.cm.ConnectionException
import org.kverbs.embedded.EmbeddedProvider
import java.net.InetSocketAddress
import java.nio.file.Path
import kotlin.random.Random
import kotlin.time.Duration.Companion.milliseconds

/** Tests how a peer learns of the end of a process with open connections on the embedded device. */
class ProcessEndSpec :
    FunSpec({
        timeout = 120_000

        for ((how, status) in listOf("exits" to 3, "falls off main" to 0, "gets SIGTERM" to 128 + 15)) {
            test("should end the loop over the messages of a process that $how") {
                val (server, client) = neighbours()
                val devices = EmbeddedProvider("udp:$server")
                rdmaHost { device(Device.of(devices, devices.devices().single())) }.use { host ->
                    host.listen(InetSocketAddress(server, 0)).use { listener ->
                        val process = clientProcess(client, how, server, listener.address.port)
                        try {
                            val connection = listener.awaitRequest().acceptMessages()
                            val came = mutableListOf<String>()
                            shouldThrow<ConnectionException> {
                                for (message in connection.incoming) {
                                    came += message.decodeToString()
                                    if (how == "gets SIGTERM") process.destroy()
                                }
                            }.message shouldContain "the connection has ended"
                            came shouldContainExactly listOf("I am here")
                            process.waitFor() shouldBe status
                        } finally {
                            process.destroyForcibly()
                        }
                    }
                }
            }
        }

        for ((what, wait) in listOf<Pair<String, suspend (MessageConnection) -> Unit>>(
            "receives" to { it.receive() },
            "waits for credits" to { while (true) it.send(ByteArray(1)) },
            "waits until its large messages are read" to { while (true) it.send(ByteArray(2_000_000)) },
        )) {
            test("should end the wait of a server that $what when its client's process is killed") {
                val (server, client) = neighbours()
                val devices = EmbeddedProvider("udp:$server")
                rdmaHost { device(Device.of(devices, devices.devices().single())) }.use { host ->
                    host.listen(InetSocketAddress(server, 0)).use { listener ->
                        val process = clientProcess(client, "is killed", server, listener.address.port)
                        try {
                            val connection = listener.awaitRequest().acceptMessages { keepAlive(100.milliseconds) }
                            connection.receive().decodeToString() shouldBe "I am here"
                            coroutineScope {
                                val waiting =
                                    async(
                                        start = CoroutineStart.UNDISPATCHED,
                                    ) { runCatching { wait(connection) }.exceptionOrNull() }
                                process.destroyForcibly().waitFor() shouldBe 128 + 9
                                waiting.await().shouldBeInstanceOf<RdmaException>()
                            }
                        } finally {
                            process.destroyForcibly()
                        }
                    }
                }
            }
        }

        test("should end a receive into a buffer when its sender's process is killed before the message is read") {
            val (server, client) = neighbours()
            val devices = EmbeddedProvider("udp:$server")
            rdmaHost { device(Device.of(devices, devices.devices().single())) }.use { host ->
                host.listen(InetSocketAddress(server, 0)).use { listener ->
                    val process = clientProcess(client, "is killed as a sender", server, listener.address.port)
                    try {
                        val connection =
                            listener.awaitRequest().acceptMessages {
                                keepAlive(100.milliseconds)
                                fetchAhead(0)
                            }
                        connection.receive().decodeToString() shouldBe "I am here"
                        while (connection.stats.waitingMessages < 1) delay(1)
                        process.destroyForcibly().waitFor() shouldBe 128 + 9
                        val pool = connection.pd.bufferPool()
                        pool.take(1_000_000).use { into -> shouldThrow<RdmaException> { connection.receive(into) } }
                        shouldThrow<RdmaException> { connection.receive() }
                        pool.taken shouldBe 0
                    } finally {
                        process.destroyForcibly()
                    }
                }
            }
        }
    })

/** Returns two addresses of this machine that no other test uses. */
private fun neighbours(): Pair<String, String> {
    val network = "127.${Random.nextInt(128, 255)}.${Random.nextInt(256)}"
    val host = 2 * Random.nextInt(1, 127)
    return "$network.$host" to "$network.${host + 1}"
}

private fun clientProcess(
    address: String,
    how: String,
    server: String,
    port: Int,
): Process {
    val java = Path.of(System.getProperty("java.home"), "bin", "java").toString()
    val options = listOf("--enable-native-access=ALL-UNNAMED", "-Dkverbs.embedded=udp:$address")
    val program =
        listOf(
            "-cp",
            System.getProperty("java.class.path"),
            "org.kverbs.coroutines.ClientProgram",
            how,
            server,
            "$port",
        )
    return ProcessBuilder(listOf(java) + options + program).inheritIO().start()
}
