package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.collections.shouldNotBeEmpty
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart.UNDISPATCHED
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.TimeoutCancellationException
import kotlinx.coroutines.asContextElement
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancel
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.completeWith
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.yield
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionStatus
import org.kverbs.dsl.get
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.atomic.AtomicReference
import kotlin.concurrent.thread
import kotlin.coroutines.Continuation
import kotlin.coroutines.intrinsics.createCoroutineUnintercepted
import kotlin.coroutines.resume
import kotlin.random.Random
import kotlin.time.Duration.Companion.milliseconds

/**
 * Tests coroutines on the polling thread whose sends complete late: the peer has no receive when the message comes, and
 * posts one later.
 */
class LateSendSpec :
    FunSpec({
        timeout = 60_000

        /** Runs a coroutine on the thread that polls for the client. */
        fun onPollingThread(block: suspend (TwoEnds) -> Unit) =
            TwoEnds(dispatcher = { callerPolls() }).use { ends -> ends.client.dispatcher.run { block(ends) } }

        /** Lets the next message that has been sent arrive. */
        fun TwoEnds.receive(length: Long = 64) {
            server.qp.postReceive(server.region[0, length])
            server.dispatcher.poll()
        }

        /** Lets a message arrive, unless a receive waits for one. */
        fun TwoEnds.receiveNext() {
            server.dispatcher.poll()
            if (server.qp.receives.toString().startsWith("0 ")) receive()
        }

        suspend fun TwoEnds.send() = client.qp.send(client.region[0, 8])

        /** Starts a coroutine that has [job] itself as its job, and a context without elements for threads. */
        fun TwoEnds.startAs(
            job: Job,
            block: suspend () -> Unit,
        ) = CompletableDeferred<Unit>().also { end ->
            val context = client.dispatcher.coroutineDispatcher + job
            block.createCoroutineUnintercepted(Continuation(context) { end.completeWith(it) }).resume(Unit)
        }

        /** Starts a coroutine of its own, which nobody must wait for. */
        fun TwoEnds.launch(block: suspend () -> Unit) =
            CoroutineScope(client.dispatcher.coroutineDispatcher).launch(start = UNDISPATCHED) { block() }

        test("should register with the job of a coroutine once for all its sends, and leave it at the close") {
            onPollingThread { ends ->
                val job = CountingJob()
                val sender = ends.startAs(job) { repeat(SENDS) { ends.send() } }
                repeat(SENDS) {
                    ends.receive()
                    yield()
                }
                sender.await()
                job.seen.get() shouldBe 1
                job.handlers.get() shouldBe 1
                ends.client.qp.close()
                job.handlers.get() shouldBe 0
            }
        }

        test("should resume a coroutine without the event loop of kotlinx.coroutines") {
            onPollingThread { ends ->
                fun frames(ofClass: String) = Throwable().stackTrace.map { it.className }.filter { ofClass in it }
                val sender =
                    ends.startAs(Job()) {
                        ends.send()
                        frames("PollLoop").shouldNotBeEmpty()
                        frames("DispatchedContinuation").shouldBeEmpty()
                    }
                ends.receive()
                sender.await()
            }
        }

        test("should throw at a coroutine that is cancelled while it waits, and keep its buffer until the end") {
            onPollingThread { ends ->
                val pool = ends.client.pd.bufferPool()
                repeat(SENDS) {
                    val sender = ends.launch { pool.take(8).use { ends.client.qp.send(it) } }
                    sender.cancelAndJoin()
                    pool.taken shouldBe 1
                    ends.receive()
                    while (pool.taken != 0) yield()
                }
            }
        }

        test("should throw at a coroutine that was cancelled before it waits, and send all the same") {
            onPollingThread { ends ->
                repeat(SENDS) {
                    ends.client.text("word$it")
                    val sender =
                        ends.launch {
                            currentCoroutineContext().cancel()
                            shouldThrow<CancellationException> { ends.send() }
                        }
                    sender.isCompleted shouldBe true
                    ends.receive()
                    while (ends.client.qp.stats.pending != 0) yield()
                    ends.server.textAt(0, 5) shouldBe "word$it".take(5)
                }
            }
        }

        test("should throw at a coroutine that is cancelled after its send has completed and before it runs") {
            onPollingThread { ends ->
                var cancelled = 0
                repeat(SENDS) {
                    coroutineScope {
                        lateinit var second: Deferred<Unit>
                        val first =
                            launch(start = UNDISPATCHED) {
                                ends.send()
                                // Its look takes the completion of the second send, whose coroutine runs later.
                                ends.client.qp.write(ends.client.region[0, 8], ends.server.region.remote())
                                second.cancel()
                            }
                        second =
                            CoroutineScope(ends.client.dispatcher.coroutineDispatcher)
                                .async(start = UNDISPATCHED) { ends.send() }
                        repeat(2) { ends.receive() }
                        first.join()
                        if (runCatching { second.await() }.exceptionOrNull() is CancellationException) cancelled++
                    }
                }
                cancelled shouldBeGreaterThan 0
            }
        }

        test("should end a wait by a timeout, and serve the next send of the coroutine") {
            onPollingThread { ends ->
                coroutineScope {
                    launch {
                        repeat(3) {
                            shouldThrow<TimeoutCancellationException> { withTimeout(1.milliseconds) { ends.send() } }
                        }
                        repeat(4) { ends.receive() }
                        ends.send()
                    }
                }
            }
        }

        test("should throw a failure that comes late, with the waiting coroutine in the stack trace") {
            onPollingThread { ends ->
                val sender =
                    ends.startAs(Job()) {
                        val failure = shouldThrow<WorkCompletionException> { ends.send() }
                        failure.status() shouldBe WorkCompletionStatus.REM_INV_REQ_ERR
                        failure.stackTraceToString() shouldContain "LateSendSpec"
                    }
                val flushed =
                    ends.startAs(Job()) {
                        shouldThrow<WorkCompletionException> { ends.send() }.status() shouldBe
                            WorkCompletionStatus.WR_FLUSH_ERR
                    }
                ends.receive(length = 1)
                listOf(sender, flushed).awaitAll()
            }
        }

        test("should end a wait when the queue pair is closed, also by another thread at any time") {
            repeat(CLOSES) {
                onPollingThread { ends ->
                    val job = CountingJob()
                    val pool = ends.client.pd.bufferPool()
                    val closing =
                        thread(isDaemon = true) {
                            if (it % 2 == 0) repeat(Random.nextInt(SPINS)) { Thread.onSpinWait() }
                            ends.client.qp.close()
                        }
                    val sender =
                        ends.startAs(job) {
                            shouldThrow<IllegalStateException> { pool.take(8).use { ends.client.qp.send(it) } }
                                .message shouldContain "closed"
                        }
                    sender.await()
                    while (closing.isAlive) yield()
                    pool.taken shouldBe 0
                    job.handlers.get() shouldBe 0
                }
            }
        }

        test("should end a wait when the dispatcher is closed") {
            TwoEnds().use { ends ->
                val ready = CompletableDeferred<Unit>()
                val sender =
                    CoroutineScope(ends.client.dispatcher.coroutineDispatcher).async {
                        launch { ready.complete(Unit) }
                        ends.send()
                    }
                ready.await()
                ends.client.dispatcher.close()
                shouldThrow<IllegalStateException> { sender.await() }.message shouldContain "closed"
            }
        }

        test("should resume coroutines that send at the same time in the order of their sends") {
            onPollingThread { ends ->
                val order = ArrayList<Int>()
                repeat(SENDS) {
                    val senders =
                        List(4) { number ->
                            ends.startAs(Job()) {
                                ends.send()
                                order += number
                            }
                        }
                    repeat(4) { ends.receive() }
                    senders.awaitAll()
                }
                order shouldContainExactly List(SENDS) { listOf(0, 1, 2, 3) }.flatten()
            }
        }

        test("should resume a coroutine once, whichever comes first: the completion or the cancellation") {
            onPollingThread { ends ->
                val pool = ends.client.pd.bufferPool()
                val round = AtomicInteger()
                val job = AtomicReference<Job>()
                val done = AtomicInteger()
                val other =
                    thread(isDaemon = true) {
                        repeat(ROUNDS) {
                            while (round.get() <= it) Thread.onSpinWait()
                            repeat(Random.nextInt(SPINS)) { Thread.onSpinWait() }
                            job.get().cancel()
                            done.incrementAndGet()
                        }
                    }
                repeat(ROUNDS) {
                    val outcomes = AtomicInteger()
                    val sender =
                        CoroutineScope(ends.client.dispatcher.coroutineDispatcher).launch(start = UNDISPATCHED) {
                            try {
                                while (true) pool.take(8).use { ends.client.qp.send(it) }
                            } finally {
                                outcomes.incrementAndGet()
                            }
                        }
                    job.set(sender)
                    round.incrementAndGet()
                    while (!sender.isCompleted) {
                        ends.receiveNext()
                        yield()
                    }
                    outcomes.get() shouldBe 1
                    while (pool.taken != 0) {
                        ends.receiveNext()
                        yield()
                    }
                    while (done.get() <= it) yield()
                }
                other.join()
            }
        }

        test("should take an element for threads from the thread at the end of a withContext that sends") {
            onPollingThread { ends ->
                val name = ThreadLocal<String?>()
                coroutineScope {
                    val sender =
                        launch {
                            repeat(SENDS) {
                                withContext(name.asContextElement("named")) {
                                    ends.send()
                                    name.get() shouldBe "named"
                                }
                                name.get() shouldBe null
                            }
                        }
                    while (sender.isActive) {
                        name.get() shouldBe null
                        ends.receiveNext()
                        yield()
                    }
                }
            }
        }

        test("should not block the coroutines of other dispatchers, which wait in the usual way") {
            onPollingThread { ends ->
                coroutineScope {
                    val senders =
                        listOf(Dispatchers.Default, Dispatchers.Unconfined, ends.client.dispatcher.coroutineDispatcher)
                            .map { launch(it) { repeat(SENDS) { ends.send() } } }
                    while (senders.any { it.isActive }) {
                        ends.receiveNext()
                        yield()
                    }
                }
            }
        }
    }) {
    private companion object {
        const val SENDS = 40
        const val CLOSES = 40
        const val ROUNDS = 1000
        const val SPINS = 2000
    }
}
