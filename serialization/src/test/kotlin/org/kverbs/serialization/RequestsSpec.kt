package org.kverbs.serialization

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeInRange
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.yield
import kotlinx.serialization.protobuf.ProtoBuf
import java.util.Collections
import java.util.concurrent.atomic.AtomicInteger
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds

class RequestsSpec :
    FunSpec({
        timeout = 60_000

        suspend fun <R> asked(
            answers: RequestsBuilder.() -> Unit,
            settings: RequestsBuilder.() -> Unit = {},
            block: suspend RequestScope.() -> R,
        ): R = served({ it.answerRequests(answers) }) { it.requests(settings, block) }

        test("should answer a request") {
            asked({ answer(echo) { "$it, $it" } }) { call(echo, "hello") } shouldBe "hello, hello"
        }

        test("should answer requests in any order while others are under way") {
            val first = CompletableDeferred<String>()
            asked({
                answer(echo) {
                    if (it == "first") first.await() else it.also(first::complete)
                }
            }) {
                val waits = async { call(echo, "first") }
                call(echo, "second") shouldBe "second"
                waits.await() shouldBe "second"
            }
        }

        test("should refuse a second requests block on one connection, and carry on the first") {
            served({ it.answerRequests { answer(echo) { text -> text } } }) { connection ->
                connection.requests {
                    val refusal = shouldThrow<IllegalStateException> { connection.requests { call(echo, "second") } }
                    refusal.message shouldContain "carries requests already"
                    shouldThrow<IllegalStateException> { connection.answerRequests { } }.message shouldContain
                        "carries requests already"
                    call(echo, "first") shouldBe "first"
                }
            }
        }

        test("should refuse requests on a connection that carries another protocol, until it has ended") {
            served({ it.answerRequests { answer(echo) { text -> text } } }) { connection ->
                connection.claimMessages("kRPC") shouldBe null
                shouldThrow<IllegalStateException> { connection.requests { call(echo, "first") } }.message shouldContain
                    "carries kRPC already"
                connection.releaseMessages("kRPC")
                connection.requests {
                    connection.releaseMessages("kRPC")
                    connection.claimMessages("kRPC") shouldBe "requests"
                    call(echo, "first") shouldBe "first"
                }
            }
        }

        test("should refuse requests on a connection whose requests have ended") {
            served({ it.answerRequests { answer(echo) { text -> text } } }) { connection ->
                connection.requests { call(echo, "first") }
                val refusal = shouldThrow<IllegalStateException> { connection.requests { call(echo, "second") } }
                refusal.message shouldContain "connect again"
            }
        }

        test("should give each of a thousand requests its own answer") {
            asked({ answer(echo) { it.reversed() } }) {
                List(1000) { async { call(echo, "request $it") } }.awaitAll()
            } shouldBe List(1000) { "request $it".reversed() }
        }

        test("should carry long requests and answers along with short ones") {
            val long = "x".repeat(100_000)
            asked({ answer(echo) { it + it } }) {
                List(40) { async { call(echo, if (it % 2 == 0) long else "y") } }.awaitAll()
            } shouldBe List(40) { if (it % 2 == 0) long + long else "yy" }
        }

        test("should use another format") {
            asked({
                format(ProtoBuf)
                answer(echo) { it }
            }, { format(ProtoBuf) }) { call(echo, "p") } shouldBe "p"
        }

        test("should never have more requests under way than the peer takes, and answer all") {
            val now = AtomicInteger()
            val most = AtomicInteger()
            asked({
                maxInFlight(4)
                answer(echo) {
                    most.accumulateAndGet(now.incrementAndGet(), ::maxOf)
                    yield()
                    now.decrementAndGet()
                    it
                }
            }) { List(200) { async { call(echo, "$it") } }.awaitAll() } shouldBe List(200) { "$it" }
            most.get() shouldBeInRange 1..4
        }

        test("should cancel the handler of a caller that was cancelled, and go on") {
            val began = CompletableDeferred<Unit>()
            val ended = CompletableDeferred<Unit>()
            asked({
                answer(echo) { it }
                answer(sleep) {
                    began.complete(Unit)
                    try {
                        awaitCancellation()
                    } finally {
                        ended.complete(Unit)
                    }
                }
            }) {
                val caller = launch { call(sleep, Unit) }
                began.await()
                caller.cancelAndJoin()
                ended.await()
                call(echo, "still here") shouldBe "still here"
            }
        }

        test("should have room for new requests after many that were cancelled") {
            asked({
                maxInFlight(3)
                answer(echo) { it }
                answer(sleep) { awaitCancellation() }
            }) {
                repeat(100) {
                    val callers = List(5) { launch { call(sleep, Unit) } }
                    yield()
                    callers.forEach { it.cancelAndJoin() }
                }
                call(echo, "done") shouldBe "done"
            }
        }

        test("should fail a call that is not answered in time, cancel its handler, and go on") {
            val ended = CompletableDeferred<Unit>()
            asked({
                answer(echo) { it }
                answer(sleep) {
                    try {
                        awaitCancellation()
                    } finally {
                        ended.complete(Unit)
                    }
                }
            }) {
                val failure = shouldThrow<RequestTimeoutException> { call(sleep, Unit, timeout = 50.milliseconds) }
                failure.method shouldBe "sleep"
                failure.message shouldBe "\"sleep\" was not answered within 50ms"
                ended.await()
                call(echo, "on", timeout = 1.minutes) shouldBe "on"
            }
        }

        test("should fail the caller with the message of the handler's exception, and go on") {
            val told = Collections.synchronizedList(ArrayList<String>())
            asked({
                answer(echo) { it }
                answer(fail) { if (it == "error") throw StackOverflowError(it) else check(false) { "no such $it" } }
                onFailure { method, failure -> told += "$method ${failure.javaClass.simpleName}" }
            }) {
                val failure = shouldThrow<RemoteFailureException> { call(fail, "book") }
                failure.message shouldBe "no such book"
                failure.remoteClass shouldBe null
                shouldThrow<RemoteFailureException> { call(fail, "error") }.message shouldBe "error"
                call(echo, "on") shouldBe "on"
            }
            // In any order: a handler's exception is told after its caller got the answer, and perhaps asked again.
            told.sorted() shouldBe listOf("fail IllegalStateException", "fail StackOverflowError")
        }

        test("should fail the caller when a timeout inside the handler is over, and not cancel the caller") {
            asked({ answer(sleep) { withTimeout(1.milliseconds) { awaitCancellation() } } }) {
                shouldThrow<RemoteFailureException> { call(sleep, Unit) }.message shouldContain "imed out"
            }
        }

        test("should name the class of a handler's exception with showFailureClasses") {
            asked({
                showFailureClasses()
                onFailure { _, _ -> }
                answer(fail) { error("told") }
            }) {
                val failure = shouldThrow<RemoteFailureException> { call(fail, "") }
                failure.remoteClass shouldBe "java.lang.IllegalStateException"
            }
        }

        test("should name the methods of the peer to a caller of an unknown method") {
            asked({
                answer(echo) { it }
                answer(fail) {}
            }) {
                shouldThrow<RemoteFailureException> { call(method<Int, Int>("eco"), 1) }.message shouldBe
                    "no method \"eco\" is answered here; its methods are: echo, fail"
            }
        }

        test("should name the type and length of a request or answer that cannot be decoded, and go on") {
            asked({ answer(echo) { it } }) {
                shouldThrow<RemoteFailureException> { call(method<Int, String>("echo"), 1) }.message shouldContain
                    "the message of 1 bytes is no kotlin.String"
                shouldThrow<MessageDecodingException> { call(method<String, Int>("echo"), "x") }.message shouldContain
                    "the message of 2 bytes is no kotlin.Int"
                call(echo, "y") shouldBe "y"
            }
        }

        test("should make and answer requests on both sides of one connection") {
            served({ connection ->
                connection.requests({ answer(echo) { "server $it" } }) {
                    call(echo, "asks") shouldBe "client asks"
                    awaitEnd()
                }
            }) { connection ->
                connection.requests({ answer(echo) { "client $it" } }) {
                    call(echo, "asks") shouldBe "server asks"
                }
            }
        }

        test("should fail the calls under way, and later ones, when the connection ends") {
            served({ connection ->
                coroutineScope {
                    launch { connection.answerRequests { answer(sleep) { connection.close() } } }
                }
            }) { connection ->
                connection.requests {
                    shouldThrow<RequestsEndedException> { call(sleep, Unit) }.message shouldContain "was not answered"
                    shouldThrow<RequestsEndedException> { call(sleep, Unit) }
                }
            }
        }

        test("should fail a call to a peer that finishes instead of answering") {
            served({}) { connection ->
                connection.requests {
                    shouldThrow<RequestsEndedException> { call(echo, "") }.message shouldBe
                        "\"echo\" was not answered: the peer has finished"
                }
            }
        }

        test("should end a call that outlives its block") {
            served({ it.answerRequests { answer(echo) { it } } }) { connection ->
                lateinit var kept: RequestScope
                connection.requests { kept = this }
                withTimeout(10.seconds) { shouldThrow<RequestsEndedException> { kept.call(echo, "") } }
                    .cause
                    .shouldBeInstanceOf<IllegalStateException>()
            }
        }

        test("should fail a call whose request or answer is longer than the other side takes, and go on") {
            val long = "x".repeat(60_000)
            served({ it.answerRequests { answer(echo) { text -> text + text } } }, maxMessage = 100_000) { connection ->
                connection.requests {
                    shouldThrow<IllegalArgumentException> { call(echo, long + long) }.message shouldContain "\"echo\""
                    shouldThrow<RemoteFailureException> { call(echo, long) }.message shouldContain "can't be sent"
                    call(echo, "short") shouldBe "shortshort"
                }
            }
        }

        test("should refuse names that are too long, and a second handler for a method") {
            shouldThrow<IllegalArgumentException> { method<Int, Int>("") }
            shouldThrow<IllegalArgumentException> { streamMethod<Int, Int>("x".repeat(MAX_NAME + 1)) }
            shouldThrow<IllegalArgumentException> {
                RequestsBuilder().apply {
                    answer(echo) { it }
                    answer(echo) { it }
                }
            }
        }
    })
