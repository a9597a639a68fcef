package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.booleans.shouldBeTrue
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeSameInstanceAs
import io.kotest.property.Arb
import io.kotest.property.arbitrary.boolean
import io.kotest.property.arbitrary.int
import io.kotest.property.arbitrary.list
import io.kotest.property.arbitrary.map
import io.kotest.property.arbitrary.pair
import io.kotest.property.checkAll
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.internal.inThreads
import java.time.Duration
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.CountDownLatch
import kotlin.concurrent.thread

/** Tests polling and events on null0, which makes the completions that a test asks for. */
class CompletionQueueSpec :
    FunSpec({
        onNullDevice()

        test("should deliver each completion once and in order, though handlers throw at any of them") {
            val limits = Arb.list(Arb.pair(Arb.int(1..100), Arb.boolean()), 1..30)
            val throwing = Arb.list(Arb.int(1..400), 0..40).map { it.toSet() }
            NullBench().use { bench ->
                checkAll(200, Arb.int(0..400), limits, throwing) { count, polls, throwAt ->
                    val ids = (1L..count).toList()
                    NullVerbs.complete(bench.cq, ids)
                    val seen = mutableListOf<Long>()
                    var turn = 0
                    while (seen.size < count) {
                        check(turn < 1_000) { "${seen.size} of $count completions after $turn polls" }
                        val (limit, byHandler) = polls[turn++ % polls.size]
                        if (byHandler) {
                            val before = seen.size
                            val handled =
                                runCatching {
                                    bench.cq.poll({
                                        seen += it.workRequestId()
                                        if (it.workRequestId().toInt() in throwAt) error("the handler's")
                                    }, limit)
                                }
                            handled.onSuccess { seen.size - before shouldBe it }
                            handled.onFailure { it.message shouldBe "the handler's" }
                        } else {
                            val batch = WorkCompletions(limit)
                            repeat(bench.cq.poll(batch)) { seen += batch.get(it).workRequestId() }
                        }
                    }
                    seen shouldContainExactly ids
                    bench.cq.poll(WorkCompletions(1)) shouldBe 0
                    bench.cq.poll({ error("there is nothing") }, 5) shouldBe 0
                }
            }
        }

        test("should give each completion to one of the threads that poll, though their handlers throw") {
            NullBench().use { bench ->
                val count = 20_000
                val seen = ConcurrentLinkedQueue<Long>()
                val deadline = System.nanoTime() + 30_000_000_000
                val patient = { System.nanoTime() < deadline }
                inThreads(5) { number ->
                    if (number == 0) {
                        (1L..count).chunked(500).forEach { ids ->
                            NullVerbs.complete(bench.cq, ids)
                            // the queue has room for 1,024
                            while (seen.size < ids.last() - 200 && patient()) Thread.onSpinWait()
                        }
                    } else {
                        val batch = WorkCompletions(7)
                        while (seen.size < count && patient()) {
                            if (number < 3) {
                                repeat(bench.cq.poll(batch)) { seen += batch.get(it).workRequestId() }
                            } else {
                                runCatching {
                                    bench.cq.poll({
                                        seen += it.workRequestId()
                                        check(it.workRequestId() % 5 != 0L)
                                    }, 10 * number)
                                }
                            }
                        }
                    }
                }
                seen.sorted() shouldContainExactly (1L..count).toList()
            }
        }

        test("should refuse to deliver from a closed queue what a handler left behind") {
            NullBench().use { bench ->
                NullVerbs.complete(bench.cq, 1L..3L)
                shouldThrow<IllegalStateException> { bench.cq.poll({ error("the handler's") }, 3) }.message shouldBe
                    "the handler's"
                bench.cq.close()
                shouldThrow<IllegalStateException> { bench.cq.poll(WorkCompletions(4)) }.message shouldContain
                    "is closed"
                shouldThrow<IllegalStateException> { bench.cq.poll({ }, 4) }.message shouldContain "is closed"
            }
        }

        test("should complete nothing but what was signaled") {
            NullBench().use { bench ->
                NullVerbs.set(NullVerbs.Option.COMPLETE, 1)
                val qp = bench.queuePair()
                qp.postWith { list -> list.send(1).send(2).signaled().write(3, 0, 0).signaled() }
                qp.postReceive(4, bench.mr.slice())
                val batch = WorkCompletions(8)
                bench.cq.poll(batch) shouldBe 3
                List(3) { batch.get(it).workRequestId() } shouldContainExactly listOf(2L, 3L, 4L)
                batch.get(0).queuePairNumber() shouldBe qp.number()
            }
        }

        test("should announce a completion once for each arming, and close with events that nobody acknowledged") {
            NullBench().use { bench ->
                bench.channel.awaitEvent(Duration.ofMillis(1)).shouldBeNull()
                bench.cq.arm()
                NullVerbs.complete(bench.cq, listOf(1L, 2L))
                bench.channel.awaitEvent(Duration.ofSeconds(5)) shouldBeSameInstanceAs bench.cq
                bench.channel.awaitEvent(Duration.ofMillis(1)).shouldBeNull()
                bench.cq.ackEvents() shouldBe 1
                bench.cq.ackEvents() shouldBe 0

                bench.cq.arm()
                NullVerbs.complete(bench.cq, listOf(3L))
                bench.channel.awaitEvent(Duration.ofSeconds(5)) shouldBeSameInstanceAs bench.cq
                bench.cq.arm()
                NullVerbs.complete(bench.cq, listOf(4L)) // its event is never taken
                bench.cq.close()
            }
        }

        test("should find the queue of each event while queues come, complete and go") {
            NullBench().use { bench ->
                val rounds = 1_500
                val got = ConcurrentLinkedQueue<CompletionQueue>()
                val done = CountDownLatch(2)
                val waiter =
                    thread {
                        while (done.count > 0) bench.channel.awaitEvent(Duration.ofMillis(5))?.let { got += it }
                    }
                val kept = ConcurrentLinkedQueue<CompletionQueue>()
                inThreads(2) {
                    repeat(rounds) { round ->
                        val cq = bench.context.completionQueue(CompletionQueueAttributes.of(4, bench.channel))
                        cq.arm()
                        NullVerbs.complete(cq, listOf(1L))
                        // Each second one is closed at once, while its event is under way; its address goes to a queue
                        // of the other thread.
                        if (round % 2 == 0) {
                            cq.close()
                        } else {
                            while (cq !in got) Thread.onSpinWait()
                            kept += cq
                            cq.close()
                            got.remove(cq)
                        }
                    }
                    done.countDown()
                }
                waiter.join()
                kept.size shouldBe rounds
            }
        }

        test("should still find a queue when one that had its address before is forgotten late") {
            NullBench().use { bench ->
                val forgotten = bench.context.completionQueue(4)
                bench.channel.remove(bench.cq.handle(), forgotten)
                bench.cq.arm()
                NullVerbs.complete(bench.cq, listOf(1L))
                bench.channel.awaitEvent(Duration.ofSeconds(5)) shouldBeSameInstanceAs bench.cq
            }
        }

        test("should find its object for an asynchronous event, though another one had its address before") {
            NullBench().use { bench ->
                repeat(100) { bench.queuePair().close() }
                val qp = bench.queuePair()
                bench.context.events.sources.containsValue(qp).shouldBeTrue()
                bench.context.events.sources.size shouldBe 2 // the queue pair and the completion queue
            }
        }
    })
