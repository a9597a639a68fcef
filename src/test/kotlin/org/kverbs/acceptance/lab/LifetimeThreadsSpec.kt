package org.kverbs.acceptance.lab

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import org.kverbs.CompletionQueue
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletions
import org.kverbs.acceptance.contract.Bench
import org.kverbs.acceptance.contract.Link
import org.kverbs.acceptance.contract.await
import org.kverbs.acceptance.contract.devicesUnderTest
import org.kverbs.acceptance.contract.long
import org.kverbs.acceptance.contract.putLong
import org.kverbs.acceptance.contract.shouldStayEmpty
import org.kverbs.acceptance.contract.take
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.atomic.AtomicIntegerArray
import kotlin.concurrent.thread
import kotlin.time.Duration.Companion.minutes

/** Checks many threads on one completion queue. */
class LifetimeThreadsSpec :
    FunSpec({
        test(
            "should neither lose nor repeat a completion when $THREADS threads post on their own queue pairs and " +
                "poll one queue",
        ).config(timeout = 5.minutes, blockingTest = true) {
            Bench(devicesUnderTest.single { it.name == "rxe0" }).use { bench ->
                val cq = bench.cq(THREADS * WINDOW * 2)
                val links = List(THREADS) { bench.linked(a = bench.end(cq = cq), b = bench.end(cq = cq)) }
                val tally = Tally()
                val failures = ConcurrentLinkedQueue<Throwable>()
                val threads =
                    links.mapIndexed { number, link ->
                        thread { runCatching { sendAndPoll(number, link, cq, tally) }.onFailure { failures += it } }
                    }
                threads.forEach { it.join() }
                failures.firstOrNull()?.let { throw it }
                cq.shouldStayEmpty()
                withClue("ids that came not once") { tally.notOnce().shouldBeEmpty() }
                links.sumOf { it.b.mr.long() } shouldBe THREADS * (MESSAGES_EACH - 1L)
            }
        }
    })

private const val THREADS = 8
private const val MESSAGES_EACH = 2_500
private const val WINDOW = 32

/** How often each work request completed: a thread's sends, and then its receives. */
private class Tally {
    private val seen = AtomicIntegerArray(THREADS * 2 * MESSAGES_EACH)

    /** Completions that each thread still waits for. */
    val outstanding = List(THREADS) { AtomicInteger() }
    val finished = AtomicInteger()

    fun count(completion: WorkCompletion) {
        val id = completion.orThrow().workRequestId().toInt()
        seen.incrementAndGet(id)
        outstanding[id / (2 * MESSAGES_EACH)].decrementAndGet()
        finished.incrementAndGet()
    }

    fun notOnce() = (0 until seen.length()).filter { seen.get(it) != 1 }
}

/** Sends a link's messages one after the other, and polls until those of all threads are done. */
private fun sendAndPoll(
    number: Int,
    link: Link,
    cq: CompletionQueue,
    tally: Tally,
) {
    val first = number * 2 * MESSAGES_EACH
    val batch = WorkCompletions(1 + number) // threads take different numbers at once
    val source = link.a.mr.slice(0, Long.SIZE_BYTES.toLong())
    val target = link.b.mr.slice(0, Long.SIZE_BYTES.toLong())
    val poll = {
        if (number % 2 == 0) {
            repeat(cq.poll(batch)) { tally.count(batch.get(it)) }
        } else {
            cq.poll(tally::count, 1 + number)
        }
    }
    for (message in 0 until MESSAGES_EACH) {
        await("room for another message of thread $number") {
            poll()
            tally.outstanding[number].get() <= 2 * (WINDOW - 1)
        }
        tally.outstanding[number].addAndGet(2)
        link.a.mr.putLong(message.toLong())
        link.b.qp.postReceive((first + MESSAGES_EACH + message).toLong(), target)
        link.a.qp.postWith { it.send((first + message).toLong()).from(source).signaled() }
    }
    await("the completions of all threads") {
        poll()
        tally.finished.get() >= THREADS * 2 * MESSAGES_EACH
    }
}
