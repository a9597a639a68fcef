package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.ints.shouldBeLessThan
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Job
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.cancel
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import kotlinx.coroutines.yield
import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionStatus
import org.kverbs.dsl.get
import org.kverbs.dsl.write
import kotlin.coroutines.Continuation
import kotlin.coroutines.EmptyCoroutineContext
import kotlin.coroutines.startCoroutine

/** Starts a coroutine without a dispatcher: it runs inside the call that resumes it. */
private fun startPlain(block: suspend () -> Unit): () -> Result<Unit>? {
    var result: Result<Unit>? = null
    block.startCoroutine(Continuation(EmptyCoroutineContext) { result = it })
    return { result }
}

private suspend fun TwoEnds.writeOne(at: Long = 0) =
    client.qp.write(client.region[at, 8], to = server.region.remote(), offset = at)

private suspend fun TwoEnds.writeWithWrongKey() {
    val remote = server.region.remote()
    client.qp.write(client.region[0, 8], to = RemoteMemory(remote.address(), 64, remote.rkey() + 1))
}

/**
 * Tests coroutines on the polling thread that look for their completion before they suspend. On the embedded device a
 * request between queue pairs of one process completes while it is posted.
 */
class LookBeforeSuspendSpec :
    FunSpec({
        timeout = 60_000

        fun onPollingThread(block: suspend (TwoEnds) -> Unit) =
            TwoEnds(dispatcher = { callerPolls() }).use { ends -> ends.client.dispatcher.run { block(ends) } }

        for ((what, call) in listOf<Pair<String, suspend (TwoEnds) -> Unit>>(
            "write" to { it.writeOne() },
            "fetchAndAdd" to { it.client.qp.fetchAndAdd(it.server.region.remote(), 1) shouldBe 0 },
            "batch" to { ends ->
                ends.client.qp.batch { repeat(3) { write(ends.client.region[0, 8], to = ends.server.region.remote()) } }
            },
        )) {
            test("should return from $what without suspending if the request has completed") {
                onPollingThread { ends ->
                    coroutineScope { launch(start = CoroutineStart.UNDISPATCHED) { call(ends) }.isCompleted } shouldBe
                        true
                }
            }
        }

        test("should let the other coroutines of the thread run beside one that never needs to suspend") {
            onPollingThread { ends ->
                coroutineScope {
                    val endless = launch { while (true) ends.writeOne() }
                    repeat(10) { yield() }
                    endless.cancelAndJoin()
                }
            }
        }

        test("should let each of several coroutines look many times before the next one runs") {
            TwoEnds(settings = { maxSendWr(3) }, dispatcher = { callerPolls() }).use { ends ->
                val calls = IntArray(2)
                val endless =
                    calls.indices.map { number ->
                        CoroutineScope(ends.client.dispatcher.coroutineDispatcher).launch {
                            while (true) {
                                ends.writeOne()
                                calls[number]++
                            }
                        }
                    }
                val least =
                    List(10) {
                        calls.fill(0)
                        ends.client.dispatcher.poll() shouldBeGreaterThan 0
                        calls.min()
                    }
                least.max() shouldBeGreaterThan 200
                endless.forEach { it.cancel() }
                while (endless.any { !it.isCompleted }) ends.client.dispatcher.poll()
            }
        }

        test("should end a round of coroutines that never need to suspend, soon after a task came for the thread") {
            TwoEnds(settings = { maxSendWr(3) }, dispatcher = { callerPolls() }).use { ends ->
                val dispatcher = ends.client.dispatcher.coroutineDispatcher
                var calls = 0
                var askedAt = 0
                val ranAfter = mutableListOf<Int>()
                val endless =
                    List(3) { number ->
                        CoroutineScope(dispatcher).launch {
                            while (true) {
                                ends.writeOne()
                                calls++
                                if (askedAt == 0 && ranAfter.size % 3 == number) {
                                    askedAt = calls
                                    dispatcher.dispatch(EmptyCoroutineContext) {
                                        ranAfter += calls - askedAt
                                        askedAt = 0
                                    }
                                }
                            }
                        }
                    }
                var rounds = 0
                while (ranAfter.size < TASKS && rounds++ < 10_000) {
                    ends.client.dispatcher.poll() shouldBeGreaterThan 0
                }
                ranAfter.size shouldBeGreaterThan TASKS - 1
                // The coroutine that runs looks 256 times at most, and the others not at all.
                ranAfter.max() shouldBeLessThan 300
                endless.forEach { it.cancel() }
                while (endless.any { !it.isCompleted }) ends.client.dispatcher.poll()
            }
        }

        test("should throw at a caller that was cancelled before, and post all the same, as a suspending call does") {
            onPollingThread { ends ->
                ends.client.text("posted")
                coroutineScope {
                    launch(start = CoroutineStart.UNDISPATCHED) {
                        currentCoroutineContext().cancel()
                        shouldThrow<CancellationException> { ends.writeOne() }
                        withContext(NonCancellable) { ends.writeOne(at = 8) }
                    }
                }
                ends.server.textAt(0, 6) shouldBe "posted"
            }
        }

        test("should throw at a caller that is cancelled while it looks") {
            TwoEnds(dispatcher = { callerPolls() }).use { ends ->
                var looking: Job? = null
                val earlier =
                    startPlain {
                        ends.writeOne() // nobody polls yet: it suspends
                        looking.shouldNotBeNull().cancel()
                    }
                ends.client.dispatcher.run {
                    coroutineScope {
                        val job = launch(start = CoroutineStart.LAZY) { ends.writeOne(at = 8) }
                        looking = job
                        job.join() // its look completes the earlier write first, whose coroutine runs inside the look
                        job.isCancelled shouldBe true
                    }
                }
                earlier()?.isSuccess shouldBe true
            }
        }

        test("should end a caller that looks when a coroutine that runs in the look closes the queue pair") {
            TwoEnds(dispatcher = { callerPolls() }).use { ends ->
                val earlier =
                    startPlain {
                        ends.writeOne()
                        ends.client.qp.close()
                    }
                ends.client.dispatcher.run {
                    shouldThrow<IllegalStateException> { ends.writeOne(at = 8) }.message shouldContain "was closed"
                }
                earlier()?.isSuccess shouldBe true
            }
        }

        test("should resume thousands of coroutines without a dispatcher, which write again, on a flat stack") {
            TwoEnds(settings = { maxSendWr(COUNT) }, dispatcher = { callerPolls() }).use { ends ->
                val all = List(COUNT) { startPlain { repeat(3) { ends.writeOne() } } }
                ends.client.dispatcher.run {
                    ends.writeOne()
                    while (all.any { it() == null }) yield()
                }
                all.all { it()?.isSuccess == true } shouldBe true
            }
        }

        test("should throw a failure that the look finds, with the caller in its stack trace and the first as cause") {
            onPollingThread { ends ->
                val refused = shouldThrow<WorkCompletionException> { ends.writeWithWrongKey() }
                refused.status() shouldBe WorkCompletionStatus.REM_ACCESS_ERR
                refused.stackTraceToString() shouldContain "LookBeforeSuspendSpec"
                val flushed = shouldThrow<WorkCompletionException> { ends.writeOne() }
                flushed.status() shouldBe WorkCompletionStatus.WR_FLUSH_ERR
                flushed.cause.shouldBeInstanceOf<WorkCompletionException>().status() shouldBe
                    WorkCompletionStatus.REM_ACCESS_ERR
            }
        }

        test("should not let a coroutine wait in a queue that another thread has ended since it posted") {
            val slots = SendSlots(2, Failures())
            val glance = Glance().apply { begin(slots, slots.next()) }
            slots.put(0, glance, 0, null)
            slots.advance(1)
            slots.fail(IllegalStateException("ended"))
            glance.isDone shouldBe false
            slots.attach(0, glance, SendSlots.NOBODY) shouldBe false
        }

        test("should take the completion of a request that is not looked for as none of the looking coroutine") {
            val slots = SendSlots(2, Failures())
            val glance = Glance().apply { begin(slots, 1) }
            glance.end(slots, 0, null)
            glance.end(SendSlots(2, Failures()), 1, null)
            glance.isDone shouldBe false
            glance.end(slots, 1, null)
            glance.isDone shouldBe true
        }

        for (thrown in listOf(IllegalArgumentException("planted"), StackOverflowError("planted"))) {
            test("should lose a queue that fails with ${thrown.javaClass.simpleName} in a look, as in a round") {
                onPollingThread { ends ->
                    val broken =
                        object : CompletionTarget {
                            override fun complete(
                                request: Int,
                                completion: WorkCompletion,
                            ) = throw thrown

                            override fun fail(cause: Throwable) = throw thrown
                        }
                    val id = ends.client.dispatcher.targets.add(broken).toLong() shl 32
                    ends.client.qp.queuePair.postWrite(id, ends.client.region[8, 8], ends.server.region.remote())
                    repeat(2) {
                        val failure = shouldThrow<IllegalStateException> { ends.writeOne() }
                        failure.message shouldContain "can't be polled any more: planted"
                        generateSequence<Throwable>(failure) { it.cause }.last() shouldBe thrown
                    }
                }
            }
        }
    }) {
    private companion object {
        const val COUNT = 2000
        const val TASKS = 60
    }
}
