package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.channels.consumeEach
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionStatus
import org.kverbs.attributes.AccessFlag
import org.kverbs.cm.ConnectionException
import org.kverbs.dsl.connectOptions
import org.kverbs.embedded.EmbeddedFabric
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds

class ChannelKeepAliveSpec :
    FunSpec({
        timeout = 120_000

        suspend fun withMortalPeer(
            keepAlive: Duration?,
            timeout: Int = 10,
            block: suspend (TwoChannels, die: () -> Unit) -> Unit,
        ) = EmbeddedFabric.realTime(1).use { fabric ->
            val one = fabric.addDevice()
            val other = fabric.addDevice()
            val impatient = connectOptions { timeout(timeout).retryCount(2).rnrRetry(0) }
            TwoChannels({
                keepAlive(keepAlive)
                receiveSlots(2)
                fetchAhead(10_000)
            }, clientDevice = one.open(), serverDevice = other.open(), options = impatient).use { ends ->
                block(ends) { fabric.kill(other) }
            }
        }

        for ((what, wait) in listOf<Pair<String, suspend (MessageChannel, RegisteredBuffer) -> Unit>>(
            "receives" to { channel, _ -> channel.receive() },
            "loops over the messages" to { channel, _ -> channel.incoming.consumeEach { } },
            "waits for credits" to { channel, _ -> while (true) channel.send(ByteArray(1)) },
            "waits for the peer to read a large message" to { channel, buffer -> while (true) channel.send(buffer) },
            "waits for a name" to { channel, _ -> channel.awaitRemote("nothing") },
        )) {
            test("should end the wait of a program that $what when the peer's machine dies") {
                withMortalPeer(50.milliseconds) { ends, die ->
                    val pool = ends.clientPd.bufferPool { access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ) }
                    coroutineScope {
                        val waiting =
                            async(start = CoroutineStart.UNDISPATCHED) {
                                runCatching { wait(ends.client, pool.take(20_000)) }.exceptionOrNull()
                            }
                        delay(100) // the sent message has arrived, so that nothing is under way
                        die()
                        val failure = waiting.await().shouldBeInstanceOf<ConnectionException>()
                        failure.message shouldContain
                            "the peer did not answer the keep-alive: nothing came from it for 50ms"
                        failure.message shouldContain "RETRY_EXC_ERR"
                        generateSequence<Throwable>(failure) { it.cause }
                            .toList()
                            .last()
                            .shouldBeInstanceOf<WorkCompletionException>()
                            .status() shouldBe WorkCompletionStatus.RETRY_EXC_ERR
                        ends.client.isOpen shouldBe false
                    }
                }
            }
        }

        test("should keep a silent peer that is alive") {
            // The client asks as soon as it is connected: on a busy machine the server is not, for some milliseconds.
            withMortalPeer(1.milliseconds, timeout = 16) { ends, _ ->
                withTimeoutOrNull(200) { ends.client.receive() } shouldBe null
                ends.server.send(ByteArray(1))
                ends.client.receive().size shouldBe 1
            }
        }

        test("should not probe the peer if keepAlive is null") {
            withMortalPeer(null) { ends, die ->
                die()
                withTimeoutOrNull(200) { ends.client.receive() } shouldBe null
                ends.client.isOpen shouldBe true
            }
        }
    })
