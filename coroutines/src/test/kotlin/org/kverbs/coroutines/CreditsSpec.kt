package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeSameInstanceAs
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.coroutines.yield
import java.util.concurrent.atomic.AtomicInteger
import kotlin.random.Random

/** Credits that are all taken, and the callers that got some since, in order. */
private class Queue(
    val scope: CoroutineScope,
    capacity: Int,
) {
    val credits = Credits(capacity).also { it.tryAcquire(capacity) shouldBe true }
    val served = ArrayList<String>()

    /** Starts a caller that waits from now on. */
    fun waiter(
        name: String,
        count: Int,
    ): Job =
        scope.launch(start = CoroutineStart.UNDISPATCHED) {
            credits.acquire(count)
            served.add(name)
        }

    /** Lets resumed coroutines run. */
    suspend fun settle() = repeat(3) { yield() }
}

class CreditsSpec :
    FunSpec({
        timeout = 60_000

        suspend fun queue(
            capacity: Int,
            block: suspend Queue.() -> Unit,
        ) = coroutineScope { Queue(this, capacity).block() }

        test("should serve waiting callers in the order of their calls") {
            queue(4) {
                for (name in listOf("first", "second", "third")) waiter(name, 1)
                repeat(3) { done ->
                    credits.release(1)
                    settle()
                    served shouldContainExactly listOf("first", "second", "third").take(done + 1)
                }
            }
        }

        test("should not let a small request or a later caller overtake a large request") {
            queue(4) {
                waiter("big", 3)
                waiter("small", 1)
                credits.release(2)
                settle()
                served.shouldBeEmpty()
                credits.tryAcquire(1) shouldBe false
                credits.release(1)
                settle()
                served shouldContainExactly listOf("big")
                credits.release(1)
                settle()
                served shouldContainExactly listOf("big", "small")
            }
        }

        test("should serve the callers behind a cancelled large request") {
            queue(4) {
                val big = waiter("big", 4)
                waiter("small", 1)
                waiter("smaller", 1)
                credits.release(2)
                settle()
                served.shouldBeEmpty()
                big.cancelAndJoin()
                settle()
                served shouldContainExactly listOf("small", "smaller")
                credits.release(4)
                credits.tryAcquire(4) shouldBe true
            }
        }

        test("should give the credits of a caller that is cancelled before it runs to the next") {
            queue(2) {
                val first = waiter("first", 2)
                waiter("second", 2)
                credits.release(2) // the first is resumed but does not run yet
                first.cancelAndJoin()
                settle()
                served shouldContainExactly listOf("second")
            }
        }

        test("should take no credits for a request whose timeout is over") {
            queue(2) {
                withTimeoutOrNull(20) { credits.acquire(1) } shouldBe null
                credits.release(2)
                credits.tryAcquire(2) shouldBe true
            }
        }

        test("should fail all waits with the cause, and all later ones") {
            queue(2) {
                val waits =
                    List(3) {
                        scope.async(start = CoroutineStart.UNDISPATCHED) {
                            runCatching {
                                credits.acquire(1 + it % 2)
                            }
                        }
                    }
                val cause = IllegalStateException("the queue pair was closed")
                credits.fail(cause)
                for (wait in waits) wait.await().exceptionOrNull().origin() shouldBeSameInstanceAs cause
                runCatching { credits.acquire(1) }.exceptionOrNull().origin() shouldBeSameInstanceAs cause
            }
        }

        test("should refuse a request above the capacity") {
            shouldThrow<IllegalArgumentException> { Credits(4).acquire(5) }.message shouldContain "5 requests at once"
        }

        test(
            "should lend no more credits than there are, and have all again in the end, with many threads and " +
                "cancellations",
        ) {
            val credits = Credits(CAPACITY)
            val lent = AtomicInteger()
            withContext(Dispatchers.Default) {
                repeat(200) { number ->
                    launch {
                        val random = Random(number)
                        repeat(200) {
                            val count = random.nextInt(1, CAPACITY + 1)
                            val work =
                                launch {
                                    credits.acquire(count)
                                    check(lent.addAndGet(count) <= CAPACITY) { "lent more than $CAPACITY" }
                                    lent.addAndGet(-count)
                                    credits.release(count)
                                }
                            if (random.nextInt(3) == 0) work.cancel()
                            work.join()
                        }
                    }
                }
            }
            credits.tryAcquire(CAPACITY) shouldBe true
        }
    })

private const val CAPACITY = 8

/** With assertions on, kotlinx.coroutines throws a copy with the exception as its cause. */
private fun Throwable?.origin(): Throwable? = generateSequence(this) { it.cause }.lastOrNull()
