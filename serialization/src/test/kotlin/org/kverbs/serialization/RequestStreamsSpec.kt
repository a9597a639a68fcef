package org.kverbs.serialization

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.ints.shouldBeLessThanOrEqual
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.flow.asFlow
import kotlinx.coroutines.flow.emitAll
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.onCompletion
import kotlinx.coroutines.flow.onEach
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.withContext
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

class RequestStreamsSpec :
    FunSpec({
        timeout = 60_000

        suspend fun <R> asked(
            answers: RequestsBuilder.() -> Unit,
            block: suspend RequestScope.() -> R,
        ): R = served({ it.answerRequests(answers) }) { connection -> connection.requests(block = block) }

        test("should stream any number of items in their order") {
            asked({ answer(count) { (0..<it).asFlow() } }) {
                for (items in listOf(0, 1, 63, 64, 65, 5000)) stream(count, items).toList() shouldBe List(items) { it }
            }
        }

        test("should stream to many collectors and answer calls at the same time") {
            asked({
                answer(count) { (0..<it).asFlow() }
                answer(echo) { it }
            }) {
                val streams = List(20) { async { stream(count, 500, buffer = 1 + it).toList().sum() } }
                List(100) { async { call(echo, "$it") } }.awaitAll() shouldBe List(100) { "$it" }
                streams.awaitAll() shouldBe List(20) { 500 * 499 / 2 }
            }
        }

        test("should not run ahead of a slow collector by more than the buffer") {
            val emitted = AtomicInteger()
            val ahead = AtomicInteger()
            asked({ answer(count) { (1..it).asFlow().onEach { emitted.incrementAndGet() } } }) {
                stream(count, 300, buffer = 8).collect { item -> ahead.accumulateAndGet(emitted.get() - item, ::maxOf) }
            }
            emitted.get() shouldBe 300
            ahead.get() shouldBeLessThanOrEqual 9 // the buffer, and the item that waits for its credit
        }

        test("should not report the loss of a connection as a failure of the handler") {
            val failures = ConcurrentLinkedQueue<Throwable>()
            val ended = CompletableDeferred<Unit>()
            served({ connection ->
                // On one thread: the handler notices the lost connection before the reader of requests does.
                withContext(Dispatchers.Default.limitedParallelism(1)) {
                    try {
                        connection.answerRequests {
                            onFailure { _, failure -> failures += failure }
                            answer(count) {
                                flow {
                                    emit(0)
                                    while (connection.isOpen) Thread.sleep(1)
                                    emit(1)
                                }
                            }
                        }
                    } finally {
                        ended.complete(Unit)
                    }
                }
            }) { connection ->
                runCatching { connection.requests { stream(count, 2).collect { connection.close() } } }
                ended.await()
            }
            failures.shouldBeEmpty()
        }

        test("should cancel the peer's flow when the collector has enough, and go on") {
            val ended = CompletableDeferred<Throwable?>()
            asked({
                answer(count) { flow { while (true) emit(it) }.onCompletion { ended.complete(it) } }
                answer(echo) { it }
            }) {
                stream(count, 7).take(3).toList() shouldBe listOf(7, 7, 7)
                ended.await()
                call(echo, "on") shouldBe "on"
            }
        }

        test("should fail after the items that came before the failure") {
            asked({
                onFailure { _, _ -> }
                answer(count) {
                    flow {
                        emitAll((0..<it).asFlow())
                        error("no more than $it")
                    }
                }
            }) {
                val items = ArrayList<Int>()
                val failure = shouldThrow<RemoteFailureException> { stream(count, 10).collect(items::add) }
                failure.message shouldBe "no more than 10"
                items shouldBe List(10) { it }
            }
        }

        test("should end a stream at its timeout") {
            asked({
                answer(count) {
                    flow {
                        emit(it)
                        awaitCancellation()
                    }
                }
            }) {
                shouldThrow<RequestTimeoutException> { stream(count, 1, timeout = 50.milliseconds).collect {} }
            }
        }

        test("should report the number of items that had arrived when a stream takes too long") {
            asked({
                answer(count) { items ->
                    flow {
                        repeat(items) { emit(it) }
                        awaitCancellation()
                    }
                }
            }) {
                val taken = ArrayList<Int>()
                val failure =
                    shouldThrow<RequestTimeoutException> {
                        stream(
                            count,
                            3,
                            timeout = 1.seconds,
                        ).collect { taken += it }
                    }
                failure.message shouldBe "the stream \"count\" did not end within 1s; ${taken.size} items had come"
            }
        }

        test("should refuse a call to a stream, and a stream from a method with one answer") {
            asked({
                answer(count) { (1..it).asFlow() }
                answer(echo) { it }
            }) {
                shouldThrow<RemoteFailureException> { call(method<Int, Int>("count"), 1) }.message shouldBe
                    "\"count\" gives a stream and not one answer: call it with stream()"
                val echoes = stream(streamMethod<String, String>("echo"), "")
                shouldThrow<RemoteFailureException> { echoes.collect {} }.message shouldBe
                    "\"echo\" gives one answer and no stream: call it with call()"
            }
        }
    })
