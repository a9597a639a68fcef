package org.kverbs.coroutines

import com.sun.management.ThreadMXBean
import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.longs.shouldBeLessThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeSameInstanceAs
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.CoroutineStart.UNDISPATCHED
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancel
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.completeWith
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.selects.select
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.coroutines.yield
import org.kverbs.dsl.RC
import org.kverbs.dsl.RcVerbs
import org.kverbs.dsl.get
import java.lang.management.ManagementFactory
import java.lang.ref.WeakReference
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.atomic.AtomicReference
import kotlin.concurrent.thread
import kotlin.coroutines.Continuation
import kotlin.coroutines.startCoroutine
import kotlin.random.Random
import kotlin.time.Duration.Companion.seconds

/** Tests coroutines on the polling thread that await a posted receive. */
class PollingWaitSpec :
    FunSpec({
        timeout = 60_000

        /** Runs a coroutine on the thread that polls for the server. */
        fun onPollingThread(block: suspend (TwoEnds) -> Unit) =
            TwoEnds(dispatcher = { callerPolls() }).use { ends ->
                ends.server.dispatcher.run { block(ends) }
            }

        fun TwoEnds.post(number: Int = 0): Deferred<Received> = server.qp.postReceive(server.region[64L * number, 64])

        /**
         * Sends a message. Nobody awaits the send, because its coroutine can run only when the caller suspends; the
         * end of the test can end it before.
         */
        fun TwoEnds.send(text: String) {
            CoroutineScope(Dispatchers.Unconfined).launch { runCatching { client.qp.send(client.text(text)) } }
            client.dispatcher.poll()
        }

        /** Connects two more queue pairs, whose completions the running thread polls. */
        fun TwoEnds.pair(): Pair<AsyncQueuePair<RcVerbs>, AsyncQueuePair<RcVerbs>> {
            val (one, other) = List(2) { server.dispatcher.qp(server.pd, RC) }
            one.connect(other.endpoint())
            other.connect(one.endpoint())
            return one to other
        }

        /** Starts a coroutine of its own, which nobody must wait for. */
        fun TwoEnds.launch(
            start: CoroutineStart = CoroutineStart.DEFAULT,
            block: suspend () -> Unit,
        ) = CoroutineScope(server.dispatcher.coroutineDispatcher).launch(start = start) { block() }

        /** Runs a coroutine on the polling thread that has [job] itself as its job. */
        suspend fun TwoEnds.runAs(
            job: Job,
            block: suspend () -> Unit,
        ) {
            val end = CompletableDeferred<Unit>()
            block.startCoroutine(Continuation(server.dispatcher.coroutineDispatcher + job) { end.completeWith(it) })
            end.await()
        }

        test("should get one message after the other, in order, each by a wait of its own") {
            onPollingThread { ends ->
                repeat(100) {
                    val posted = ends.post()
                    ends.send("m".repeat(1 + it % 60))
                    posted.await().length shouldBe 1L + it % 60
                }
            }
        }

        test("should allocate less for a wait than a deferred of kotlinx.coroutines does") {
            onPollingThread { ends ->
                val bytes = LongArray(2)
                repeat(2 * MESSAGES) {
                    val posted = ends.post()
                    if (it % 2 == 1) posted.invokeOnCompletion { }
                    ends.send("word")
                    val before = threads.currentThreadAllocatedBytes
                    posted.await()
                    bytes[it % 2] += threads.currentThreadAllocatedBytes - before
                }
                bytes[0] / MESSAGES + 100 shouldBeLessThan bytes[1] / MESSAGES
            }
        }

        test("should throw at a coroutine that is cancelled while it waits, and leave the receive posted") {
            onPollingThread { ends ->
                coroutineScope {
                    val posted = ends.post()
                    val waiting = async(start = UNDISPATCHED) { posted.await() }
                    waiting.cancelAndJoin()
                    posted.isActive shouldBe true
                    ends.send("later")
                    posted.await().length shouldBe 5
                }
            }
        }

        test("should throw at a coroutine that was cancelled before it waits") {
            onPollingThread { ends ->
                val posted = ends.post()
                coroutineScope {
                    launch(start = UNDISPATCHED) {
                        currentCoroutineContext().cancel()
                        shouldThrow<CancellationException> { posted.await() }
                    }
                }
                posted.isActive shouldBe true
            }
        }

        test("should throw at a coroutine that is cancelled after its message came and before it runs") {
            onPollingThread { ends ->
                coroutineScope {
                    val (first, second) = List(2) { ends.post(it) }
                    val waiting = async(start = UNDISPATCHED) { second.await() }
                    // It runs inside the poll that brings both messages, and takes the second one by its own look.
                    val looking =
                        launch(start = UNDISPATCHED) {
                            first.await()
                            ends.server.qp.write(ends.server.region[0, 8], ends.client.region.remote())
                            second.isCompleted shouldBe true
                            waiting.cancel()
                        }
                    for (word in listOf("first", "second")) ends.send(word)
                    looking.join()
                    shouldThrow<CancellationException> { waiting.await() }
                    second.await().length shouldBe 6
                }
            }
        }

        test("should end a wait when the queue pair is closed, with the waiting coroutine in the stack trace") {
            onPollingThread { ends ->
                val posted = ends.post()
                coroutineScope {
                    launch { ends.server.qp.close() }
                    val ended = shouldThrow<IllegalStateException> { posted.await() }
                    ended.message shouldContain "was closed"
                    ended.stackTraceToString() shouldContain "PollingWaitSpec"
                }
            }
        }

        test("should end a wait when another coroutine cancels the receive") {
            onPollingThread { ends ->
                coroutineScope {
                    val posted = ends.post()
                    launch { posted.cancel(CancellationException("enough")) }
                    shouldThrow<CancellationException> { posted.await() }.message shouldBe "enough"
                    posted.isCancelled shouldBe true
                }
            }
        }

        test("should give the message to all who await it, join it, select it or listen for it") {
            onPollingThread { ends ->
                coroutineScope {
                    val posted = ends.post()
                    var heard = 0
                    val first = async(start = UNDISPATCHED) { posted.await() }
                    val others =
                        listOf<suspend () -> Received>(
                            { posted.await() },
                            { withContext(Dispatchers.Default) { posted.await() } },
                            { posted.join().let { posted.await() } },
                            { select { posted.onAwait { it } } },
                            { listOf(posted).awaitAll().single() },
                        ).map { async(start = UNDISPATCHED) { it() } }
                    posted.invokeOnCompletion { heard++ }
                    val gone = async(start = UNDISPATCHED) { posted.await() }
                    gone.cancelAndJoin()
                    ends.send("all")
                    val message = first.await()
                    for (other in others) other.await() shouldBeSameInstanceAs message
                    heard shouldBe 1
                    posted.children.toList() shouldContainExactly emptyList()
                }
            }
        }

        test("should let a coroutine give up its wait although others await the same receive") {
            onPollingThread { ends ->
                coroutineScope {
                    val posted = ends.post()
                    val first = async(start = UNDISPATCHED) { posted.await() }
                    val second = async(start = UNDISPATCHED) { posted.await() }
                    first.cancelAndJoin()
                    ends.send("word")
                    second.await().length shouldBe 4
                }
            }
        }

        test("should serve several coroutines that await receives of one queue at the same time") {
            onPollingThread { ends ->
                coroutineScope {
                    val waiting = List(5) { ends.post(it) }.map { async(start = UNDISPATCHED) { it.await().length } }
                    for (length in 1..5) ends.send("m".repeat(length))
                    waiting.awaitAll() shouldContainExactly listOf(1L, 2L, 3L, 4L, 5L)
                }
            }
        }

        test("should leave nothing at the job of a coroutine that goes on after its queue pair was closed") {
            onPollingThread { ends ->
                for (waits in listOf(true, false)) {
                    val job = CountingJob()
                    ends.runAs(job) {
                        val (client, server) = ends.pair()
                        val posted = List(3) { server.postReceive(ends.server.region[0, 64]) }
                        ends.launch { client.send(ends.client.region[0, 8]) } // later, so that this coroutine waits
                        posted[0].await().length shouldBe 8
                        // A coroutine that waits when the queue pair is closed, or that awaits a receive later.
                        if (waits) ends.launch { server.close() } else server.close()
                        repeat(2) { shouldThrow<IllegalStateException> { posted[1 + it].await() } }
                    }
                    job.seen.get() shouldBeGreaterThan 0
                    job.handlers.get() shouldBe 0
                }
            }
        }

        test("should stay at the job of a coroutine when another one awaits receives of the same queue") {
            onPollingThread { ends ->
                val job = CountingJob()
                ends.runAs(job) {
                    repeat(10) {
                        val posted = List(2) { ends.post(it) }
                        ends.launch { ends.send("word") }
                        posted[0].await().length shouldBe 4
                        job.seen.get() shouldBe 1
                        val other = ends.launch(UNDISPATCHED) { posted[1].await() }
                        ends.launch { ends.send("next") }
                        while (!other.isCompleted) yield()
                    }
                    job.handlers.get() shouldBe 1
                }
            }
        }

        test("should leave nothing at the job of a coroutine whose queue pair another thread closes while it waits") {
            onPollingThread { ends ->
                repeat(20) {
                    val job = CountingJob()
                    ends.runAs(job) {
                        val (_, server) = ends.pair()
                        val posted = server.postReceive(ends.server.region[0, 64])
                        val closing = thread(isDaemon = true) { server.close() }
                        shouldThrow<IllegalStateException> { posted.await() }
                        while (closing.isAlive) yield()
                    }
                    job.handlers.get() shouldBe 0
                }
            }
        }

        test("should keep no coroutine that was cancelled before it waited") {
            onPollingThread { ends ->
                val posted = ends.post()
                val gone =
                    coroutineScope {
                        val job =
                            launch(start = UNDISPATCHED) {
                                currentCoroutineContext().cancel()
                                shouldThrow<CancellationException> { posted.await() }
                            }
                        job.join()
                        WeakReference(job)
                    }
                withTimeout(30.seconds) {
                    while (gone.get() != null) {
                        System.gc()
                        delay(1)
                    }
                }
                posted.isActive shouldBe true
            }
        }

        test("should throw at a cancelled coroutine although the queue pair of its receive is closed") {
            onPollingThread { ends ->
                val (client, server) = ends.pair()
                val posted = server.postReceive(ends.server.region[0, 64])
                val waiting = ends.launch(UNDISPATCHED) { posted.await() }
                val child = Job(posted) // while it runs, the receive has its message and is not complete
                client.send(ends.client.region[0, 8])
                while (!server.receives.toString().startsWith("0 ")) yield()
                server.close()
                waiting.cancel()
                withTimeoutOrNull(10.seconds) { waiting.join() } shouldBe Unit
                child.complete()
                posted.await().length shouldBe 8
            }
        }

        test("should resume a coroutine once, whoever comes first: message, cancellation, or another waiter") {
            onPollingThread { ends ->
                val round = AtomicInteger()
                val ready = AtomicReference<Pair<Job, Deferred<Received>>>()
                val done = AtomicInteger()
                val other =
                    thread(isDaemon = true) {
                        repeat(ROUNDS) {
                            while (round.get() <= it) Thread.onSpinWait()
                            repeat(Random.nextInt(SPINS)) { Thread.onSpinWait() }
                            val (job, posted) = ready.get()
                            if (it % 2 == 0) posted.invokeOnCompletion { }
                            job.cancel()
                            done.incrementAndGet()
                        }
                    }
                repeat(ROUNDS) {
                    coroutineScope {
                        val posted = ends.post()
                        val outcomes = AtomicInteger()
                        val job =
                            launch(start = UNDISPATCHED) {
                                try {
                                    posted.await()
                                } finally {
                                    outcomes.incrementAndGet()
                                }
                            }
                        ready.set(job to posted)
                        round.incrementAndGet()
                        ends.send("word")
                        job.join()
                        outcomes.get() shouldBe 1
                        posted.await().length shouldBe 4 // also if the coroutine was cancelled
                        while (done.get() <= it) yield()
                    }
                }
                other.join()
            }
        }
    }) {
    private companion object {
        const val MESSAGES = 1000
        const val ROUNDS = 1000
        const val SPINS = 2000
        val threads = ManagementFactory.getThreadMXBean() as ThreadMXBean
    }
}
