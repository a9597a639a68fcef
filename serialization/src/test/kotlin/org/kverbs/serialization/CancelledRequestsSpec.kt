package org.kverbs.serialization

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.asFlow
import kotlinx.coroutines.flow.onCompletion
import kotlinx.coroutines.flow.onStart
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeout
import java.util.concurrent.atomic.AtomicInteger
import kotlin.random.Random
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.microseconds
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

private const val AT_ONCE = 4
private val meet = method<Unit, Unit>("meet")

/** Makes a request that a cancellation, a timeout or the collector ends at any point. */
private suspend fun RequestScope.askSomething(random: Random) {
    when (random.nextInt(6)) {
        0 -> {
            call(echo, "x")
        }

        1 -> {
            runCatching { call(sleep, Unit, timeout = random.nextInt(1, 2000).microseconds) }
        }

        2 -> {
            call(sleep, Unit)
        }

        3 -> {
            stream(count, 100, timeout = 1.hours, buffer = random.nextInt(1, 9)).take(random.nextInt(1, 20)).collect {}
        }

        4 -> {
            stream(count, 20, timeout = 1.hours, buffer = random.nextInt(1, 9)).collect {
                if (random.nextInt(8) == 0) {
                    delay(1)
                }
            }
        }

        else -> {
            runCatching { stream(count, 20, timeout = 1.hours).collect { check(it < 10) } }
        }
    }
}

class CancelledRequestsSpec :
    FunSpec({
        timeout = 120_000

        test(
            "should end the requests of callers that are cancelled at any point, and free their permits",
        ) {
            val running = AtomicInteger()
            val met = AtomicInteger()
            val allMet = CompletableDeferred<Unit>()
            served({ connection ->
                connection.answerRequests {
                    maxInFlight(AT_ONCE)
                    answer(echo) { it }
                    answer(sleep) {
                        running.incrementAndGet()
                        try {
                            awaitCancellation()
                        } finally {
                            running.decrementAndGet()
                        }
                    }
                    answer(count) { to ->
                        (1..to)
                            .asFlow()
                            .onStart { running.incrementAndGet() }
                            .onCompletion { running.decrementAndGet() }
                    }
                    answer(meet) {
                        if (met.incrementAndGet() == AT_ONCE) allMet.complete(Unit)
                        allMet.await()
                    }
                }
            }) { connection ->
                connection.requests {
                    val scope: CoroutineScope = this
                    coroutineScope {
                        repeat(2 * AT_ONCE) { worker ->
                            val random = Random(worker)
                            launch {
                                repeat(1000) {
                                    val asking = scope.launch { askSomething(random) }
                                    if (random.nextBoolean()) delay(random.nextInt(1, 500).microseconds)
                                    asking.cancel()
                                    if (random.nextInt(10) > 0) asking.join()
                                }
                            }
                        }
                    }
                    withTimeout(30.seconds) {
                        List(AT_ONCE) { async { call(meet, Unit) } }.awaitAll()
                        while (running.get() > 0) delay(1.milliseconds)
                    }
                    met.get() shouldBe AT_ONCE
                }
            }
        }
    })
