package org.kverbs.coroutines

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import java.net.InetSocketAddress

private const val LARGE = 20_000
private const val ROUNDS = 40

/** Tests large messages that stay at their sender, on channels that share the receives of their server. */
class SharedDirectReceiveSpec :
    FunSpec({
        timeout = 120_000

        test("should tell a server that reads a message why its client ended the channel, with shared receives") {
            val ends = List(ROUNDS) { CompletableDeferred<Throwable?>() }
            var round = 0
            withContext(Dispatchers.Default) {
                rdmaHost { provider("embedded") }.use { host ->
                    rdmaHost { provider("embedded") }.use { client ->
                        val settings: MessageChannelBuilder.() -> Unit = {
                            slotSize(4096)
                            fetchAhead(0)
                            keepAlive(null)
                        }
                        val server = host.bind(InetSocketAddress("127.0.0.1", 0)) { channel(settings) }
                        coroutineScope {
                            val serving =
                                server.serve(this) { connection ->
                                    val end = ends[round]
                                    connection.pd.bufferPool().take(LARGE.toLong()).use { into ->
                                        end.complete(
                                            runCatching { while (true) connection.receive(into) }.exceptionOrNull(),
                                        )
                                    }
                                }
                            repeat(ROUNDS) {
                                round = it
                                val connection = client.connectMessages(server.address) { channel(settings) }
                                val sender =
                                    launch { runCatching { while (true) connection.send(ByteArray(LARGE)) } }
                                delay(5)
                                connection.channel.close()
                                val end = withTimeout(30_000) { ends[it].await() }
                                withClue("round $it: $end") { (end is ChannelClosedException) shouldBe true }
                                sender.join()
                                connection.close()
                            }
                            serving.cancel()
                        }
                        server.close()
                    }
                }
            }
        }
    })
