package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.yield
import java.net.InetSocketAddress
import kotlin.coroutines.CoroutineContext

class HostPollSpec :
    FunSpec({
        timeout = 60_000

        fun threads() = Thread.getAllStackTraces().keys.filter { it.name.startsWith("kverbs-co") }.toSet()

        fun polled(coroutines: CoroutineContext) =
            rdmaHost {
                provider("embedded")
                this.context(coroutines)
                callerPolls()
            }

        test("should serve and connect on the caller's polling thread without other threads") {
            val before = threads()
            runBlocking {
                polled(coroutineContext).use { server ->
                    polled(coroutineContext).use { client ->
                        val polling =
                            launch {
                                while (true) {
                                    server.poll()
                                    client.poll()
                                    yield()
                                }
                            }
                        val bound = server.bind(InetSocketAddress("127.0.0.1", 0))
                        val serving =
                            bound.serve(
                                this,
                            ) { for (message in it.incoming) it.send(message.reversedArray()) }
                        client.connectMessages("127.0.0.1", bound.address.port).use {
                            it.send("ping".encodeToByteArray())
                            it.receive().decodeToString() shouldBe "gnip"
                        }
                        (threads() - before).shouldBeEmpty()
                        serving.cancelAndJoin()
                        polling.cancelAndJoin()
                    }
                }
            }
        }

        test("should end all waits when it is closed, and poll nothing afterwards") {
            runBlocking {
                val host = polled(coroutineContext)
                val listener = host.listen(InetSocketAddress("127.0.0.1", 0))
                launch { shouldThrow<IllegalStateException> { listener.awaitRequest() } }
                yield()
                host.close()
                host.poll() shouldBe 0
            }
        }

        test("should refuse poll if it has threads of its own") {
            rdmaHost { provider("embedded") }.use { host ->
                shouldThrow<IllegalStateException> { host.poll() }.message shouldContain "callerPolls()"
            }
        }
    })
