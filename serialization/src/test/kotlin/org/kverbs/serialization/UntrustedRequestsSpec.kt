package org.kverbs.serialization

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeout
import org.kverbs.RdmaException
import org.kverbs.coroutines.MessageConnection
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

/** Tests that peers that break the request protocol lose the connection with a reason, and that no call waits on. */
class UntrustedRequestsSpec :
    FunSpec({
        timeout = 60_000

        /** Returns the end of a request server whose client runs [client]. */
        suspend fun answering(client: suspend (MessageConnection) -> Unit): Throwable? {
            val outcome = CompletableDeferred<Throwable?>()
            served({ connection ->
                val ended =
                    runCatching {
                        connection.answerRequests {
                            maxInFlight(4)
                            answer(sleep) { awaitCancellation() }
                            answer(count) { flow { while (true) emit(it) } }
                        }
                    }
                outcome.complete(ended.exceptionOrNull())
            }) { connection ->
                try {
                    client(connection)
                    withTimeout(10.seconds) { outcome.await() }
                } catch (_: RdmaException) {
                    // the connection that the peer closed
                }
            }
            return withTimeout(10.seconds) { outcome.await() }
        }

        /** Returns the exception of a client's call whose server sends these frames. */
        suspend fun asking(vararg answers: Frame): Throwable? {
            val outcome = CompletableDeferred<Throwable?>()
            served({ connection ->
                connection.send(Frame.Hello(1).encode())
                connection.receive() // the client's hello
                connection.receive() // its request
                for (answer in answers) connection.send(answer.encode())
                outcome.await()
            }) { connection ->
                connection.requests {
                    val ended = runCatching { withTimeout(10.seconds) { call(echo, "") } }
                    outcome.complete(ended.exceptionOrNull())
                }
            }
            return outcome.await()
        }

        fun request(
            id: Long,
            timeout: Duration = Duration.INFINITE,
        ) = Frame.Request(id, "sleep", timeout, 0, DefaultFormat.encodeToByteArray(sleep.request, Unit)).encode()

        val hello = Frame.Hello(4).encode()

        for ((what, messages, reason) in listOf(
            Triple("something else", listOf("hello?".encodeToByteArray()), "104 is no kind of frame"),
            Triple("no hello", listOf(request(1)), "another frame before its hello"),
            Triple("two hellos", listOf(hello, hello), "a second hello"),
            Triple("too many requests", listOf(hello) + List(5) { request(it + 1L) }, "more than 4 requests"),
            Triple("two requests of one number", listOf(hello, request(1), request(1)), "two requests 1"),
            Triple("an answer to nothing", listOf(hello, Frame.Answer(1, ByteArray(3)).encode()), "request 1, which"),
            Triple("an item of nothing", listOf(hello, Frame.Item(9, ByteArray(3)).encode()), "request 9, which"),
            Triple("an end of nothing", listOf(hello, Frame.End(2).encode()), "request 2, which is not"),
        )) {
            test("should end the connection of a client that sends $what") {
                val ended = answering { connection -> messages.forEach { connection.send(it) } }
                ended.shouldBeInstanceOf<RequestProtocolException>().message shouldContain reason
            }
        }

        test("should ignore frames that cross the end of their request") {
            answering { connection ->
                connection.send(hello)
                connection.send(Frame.Cancel(5).encode())
                connection.send(Frame.Credit(5, Int.MAX_VALUE).encode())
                connection.finish()
            } shouldBe null
        }

        test("should end a request at its timeout even if the client sends nothing") {
            answering { connection ->
                connection.send(hello)
                connection.send(request(3, timeout = 20.milliseconds))
                connection.receive() // the server's hello
                val end = decodeFrame(connection.receive())
                end.shouldBeInstanceOf<Frame.Failure>().kind shouldBe Frame.Failure.Kind.TIMED_OUT
                connection.finish()
            } shouldBe null
        }

        test("should end handlers when their client finishes without waiting") {
            answering { connection ->
                connection.send(hello)
                repeat(4) { connection.send(request(it.toLong())) }
                connection.finish()
            } shouldBe null
        }

        test("should end a stream whose client takes no items and finishes") {
            answering { connection ->
                connection.send(hello)
                val endless = DefaultFormat.encodeToByteArray(count.request, 1)
                connection.send(Frame.Request(1, "count", Duration.INFINITE, Int.MAX_VALUE, endless).encode())
                connection.receive() // the server's hello
                connection.receive() // the first item
                connection.finish()
            } shouldBe null
        }

        for ((what, answers, reason) in listOf(
            Triple("an answer to another request", listOf(Frame.Answer(7, ByteArray(0))), "request 7, which is not"),
            Triple("an item instead of an answer", listOf(Frame.Item(1, ByteArray(0))), "another kind of method"),
            Triple("an end instead of an answer", listOf(Frame.End(1)), "without an answer"),
            Triple("a second hello", listOf(Frame.Hello(1)), "second hello"),
        )) {
            test("should fail the calls to a server that sends $what") {
                val failure = asking(*answers.toTypedArray()).shouldBeInstanceOf<RequestsEndedException>()
                failure.cause.shouldBeInstanceOf<RequestProtocolException>().message shouldContain reason
            }
        }

        test("should fail the calls to a server that answers twice") {
            val first = Frame.Answer(1, DefaultFormat.encodeToByteArray(echo.answer, "a"))
            asking(first, first) shouldBe null
        }

        test("should fail a stream that sends more items than its credits allow") {
            val outcome = CompletableDeferred<Throwable?>()
            served({ connection ->
                connection.send(hello)
                connection.receive() // the client's hello
                connection.receive() // its request
                launch { while (true) connection.receiveOrNull() ?: break }
                val item = Frame.Item(1, DefaultFormat.encodeToByteArray(count.item, 1)).encode()
                runCatching { while (true) connection.send(item) }
                outcome.await()
            }) { connection ->
                connection.requests {
                    val ended = runCatching { stream(count, 1, buffer = 2).collect { awaitEnd() } }
                    outcome.complete(ended.exceptionOrNull())
                }
            }
            outcome.await().shouldBeInstanceOf<RequestProtocolException>().message shouldContain "more items than"
        }
    })
