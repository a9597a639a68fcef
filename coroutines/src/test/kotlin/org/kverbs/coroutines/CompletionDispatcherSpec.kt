package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.delay
import kotlinx.coroutines.withTimeout
import org.kverbs.dsl.RC
import org.kverbs.dsl.completionQueue
import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit.SECONDS
import java.util.concurrent.atomic.AtomicBoolean
import kotlin.concurrent.thread
import kotlin.time.Duration.Companion.seconds

class CompletionDispatcherSpec :
    FunSpec({
        test("should refuse a queue pair whose block sets a completion queue, and say that it must not") {
            TwoEnds().use { ends ->
                val own = ends.device.completionQueue { entries(16) }
                shouldThrow<IllegalArgumentException> {
                    ends.client.dispatcher.qp(ends.client.pd, RC) { cq(own) }
                }.message shouldContain "leave out cq"
            }
        }

        test("should free the entries of a closed queue pair although nothing completes any more") {
            val sleeps = CompletableFuture<Unit>()
            val strategy =
                WaitStrategy {
                    sleeps.complete(Unit)
                    WaitStrategy.EVENT
                }
            TwoEnds(dispatcher = { strategy(strategy) }).use { ends ->
                val queue = ends.client.qp.sends.polled
                sleeps.get(20, SECONDS)
                delay(50) // the polling thread goes to sleep now
                queue.reserve(queue.cq.entries()) shouldBe false
                ends.client.qp.close()
                withTimeout(20.seconds) { while (!queue.reserve(queue.cq.entries())) delay(1) }
            }
        }

        for ((name, strategy) in mapOf("busy" to WaitStrategy.busy(), "event" to WaitStrategy.event())) {
            test(
                "should cancel the coroutine it runs when the caller's thread is interrupted, and wait for its end, " +
                    "by the $name strategy",
            ) {
                TwoEnds(dispatcher = {
                    callerPolls()
                    strategy(strategy)
                }).use { ends ->
                    val hasBegun = CompletableFuture<Unit>()
                    val hasEnded = AtomicBoolean()
                    val thrown = CompletableFuture<Throwable?>()
                    val caller =
                        thread(isDaemon = true) {
                            thrown.complete(
                                runCatching {
                                    ends.client.dispatcher.run {
                                        try {
                                            hasBegun.complete(Unit)
                                            awaitCancellation()
                                        } finally {
                                            hasEnded.set(true)
                                        }
                                    }
                                }.exceptionOrNull(),
                            )
                        }
                    hasBegun.get(20, SECONDS)
                    caller.interrupt()
                    thrown.get(20, SECONDS).shouldBeInstanceOf<InterruptedException>()
                    hasEnded.get() shouldBe true
                }
            }
        }
    })
