package org.kverbs.serialization

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.withContext
import org.kverbs.coroutines.RdmaHost
import org.kverbs.coroutines.RdmaServer
import org.kverbs.coroutines.bind
import org.kverbs.coroutines.rdmaHost
import org.kverbs.coroutines.reconnecting
import java.net.InetSocketAddress
import kotlin.time.Duration.Companion.milliseconds

class ReconnectingRequestsSpec :
    FunSpec({
        timeout = 60_000

        suspend fun hosts(block: suspend CoroutineScope.(serving: RdmaHost, host: RdmaHost) -> Unit) =
            withContext(Dispatchers.Default) {
                rdmaHost { provider("embedded") }.use { serving ->
                    rdmaHost { provider("embedded") }.use { block(serving, it) }
                }
            }

        fun RdmaServer.answering(
            scope: CoroutineScope,
            answer: suspend (String) -> String,
        ) = serve(scope) { it.answerRequests { answer(echo, answer) } }

        test("should ask again over a new connection when the server comes back") {
            hosts { serving, host ->
                val isAsked = CompletableDeferred<Unit>()
                val first = serving.bind(0) { onFailure { } }
                first.answering(this) {
                    isAsked.complete(Unit)
                    awaitCancellation()
                }
                val address = InetSocketAddress("127.0.0.1", first.address.port)
                val answer =
                    async {
                        host.reconnecting(address, { backOff(1.milliseconds, 50.milliseconds) }) { connection ->
                            connection.requests { call(echo, "question") }
                        }
                    }
                isAsked.await()
                first.close()
                val second = serving.bind(address.port)
                second.answering(this) { "answer to the $it" }
                answer.await() shouldBe "answer to the question"
                second.close()
            }
        }

        test("should throw the server's failure without asking again") {
            hosts { serving, host ->
                val server = serving.bind(0)
                server.answering(this) { error("planted") }
                val address = InetSocketAddress("127.0.0.1", server.address.port)
                shouldThrow<RemoteFailureException> {
                    host.reconnecting(address) { connection -> connection.requests { call(echo, "question") } }
                }
                server.close()
            }
        }
    })
