package org.kverbs.embedded.internal.objects

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.ints.shouldBeInRange
import io.kotest.matchers.ints.shouldBeLessThan
import io.kotest.matchers.shouldBe
import org.kverbs.embedded.Semantics
import org.kverbs.internal.abi.IbvWc
import java.lang.foreign.Arena
import java.lang.foreign.ValueLayout
import java.util.concurrent.Callable
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.Executors
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.atomic.AtomicInteger
import kotlin.random.Random

private const val ENTRIES = 8

/** A ring that takers can empty together for a while, even if the thread that adds does not run. */
private const val LARGE = 1024

/** The number of completions that are added while other threads take them. */
private const val MANY = 200_000L

/** How often two threads free slots at the same time. */
private const val ROUNDS = 300

/** The queue pair whose completions stay, and the one that is destroyed from time to time. */
private const val STAYS = 1
private const val GOES = 2

/** Takes completions as polls do. */
private class Taker(
    private val ring: CompletionRing,
    most: Int = ENTRIES,
) {
    private val batch = Arena.ofAuto().allocate(most * IbvWc.SIZE.toLong(), 8)

    fun take(most: Int = ENTRIES): List<Pair<Int, Long>> =
        List(ring.take(most, batch.address(), 0, false)) {
            val at = it * IbvWc.SIZE.toLong()
            val id = batch.get(ValueLayout.JAVA_LONG, at + IbvWc.WR_ID)
            batch.get(ValueLayout.JAVA_INT, at + IbvWc.QP_NUM) to id
        }
}

private fun CompletionRing.add(
    id: Long,
    qpn: Int,
    queue: Occupancy,
) {
    queue.take()
    add(id, 0, 0, 0, 0, qpn, 0, 0, queue, queue.done(), null)
}

class CompletionRingSpec :
    FunSpec({
        test("should give completions in order, and free their slots") {
            val ring = CompletionRing(ENTRIES, null)
            val queue = Occupancy(Semantics.STRICT, false)
            repeat(5) { ring.add(it.toLong(), if (it % 2 == 0) STAYS else GOES, queue) }
            Taker(ring).take(1) shouldContainExactly listOf(STAYS to 0L)
            ring.forget(GOES)
            queue.count() shouldBe 2
            ring.resize(1) shouldBe false
            ring.resize(2) shouldBe true
            ring.waiting() shouldBe ring.capacity()
            Taker(ring).take() shouldContainExactly listOf(STAYS to 2L, STAYS to 4L)
            ring.add(9, STAYS, queue)
            Taker(ring).take() shouldContainExactly listOf(STAYS to 9L)
            queue.count() shouldBe 0
        }

        test("should lose no completion and give none twice, nor one of a queue pair that was destroyed before") {
            val ring = CompletionRing(LARGE, null)
            val staying = Occupancy(Semantics.STRICT, false)
            val going = Occupancy(Semantics.STRICT, false)
            val isOver = AtomicBoolean()
            val taken = ConcurrentLinkedQueue<Pair<Int, Long>>()
            val random = Random(7)
            val stayed = mutableListOf<Long>()
            Executors.newFixedThreadPool(2).use { threads ->
                val takers =
                    List(2) {
                        val taker = Taker(ring)
                        threads.submit(
                            Callable {
                                while (!isOver.get() || ring.waiting() > 0) taken += taker.take(1 + it)
                            },
                        )
                    }
                try {
                    for (id in 0 until MANY) {
                        while (ring.waiting() == ring.capacity()) check(takers.none { it.isDone }) { "a taker failed" }
                        ring.waiting() shouldBeInRange 0..ring.capacity()
                        val goes = random.nextInt(4) == 0
                        if (!goes) stayed += id
                        ring.add(id, if (goes) GOES else STAYS, if (goes) going else staying)
                        when (random.nextInt(4096)) {
                            0 -> ring.forget(GOES)
                            1 -> ring.resize(LARGE + random.nextInt(LARGE))
                        }
                    }
                } finally {
                    isOver.set(true)
                }
                takers.forEach { it.get(1, TimeUnit.MINUTES) }
            }
            val ids = taken.groupBy({ it.first }, { it.second })
            withClue("each completion of the queue pair that stays comes once") {
                (ids.getValue(STAYS).sorted() == stayed) shouldBe true
            }
            ids.getValue(GOES).toSet().size shouldBe ids.getValue(GOES).size
            listOf(staying.count(), going.count()) shouldBe listOf(0, 0)
        }

        test("should have room for a completion once the slot of another one is free") {
            val ring = CompletionRing(ENTRIES, null)
            val queue = Occupancy(Semantics.STRICT, false)
            val isOver = AtomicBoolean()
            Executors.newSingleThreadExecutor().use { thread ->
                val taker = thread.submit(Callable { Taker(ring).run { while (!isOver.get()) take() } })
                try {
                    var id = 0L
                    while (id < MANY) {
                        if (queue.count() < ENTRIES) {
                            ring.waiting() shouldBeLessThan ENTRIES
                            ring.add(id++, STAYS, queue)
                        } else {
                            check(!taker.isDone) { "the taker failed" }
                        }
                    }
                } finally {
                    isOver.set(true)
                }
                taker.get(1, TimeUnit.MINUTES)
            }
        }

        test("should count the slots of a shared receive queue that several threads free") {
            val shared = Occupancy(Semantics.STRICT, true)
            val ready = AtomicInteger()
            val end = System.nanoTime() + TimeUnit.MINUTES.toNanos(1)
            Executors.newFixedThreadPool(2).use { threads ->
                List(2) {
                    threads.submit(
                        Callable {
                            val ring = CompletionRing(LARGE, null)
                            val taker = Taker(ring, LARGE)
                            repeat(ROUNDS) { round ->
                                synchronized(shared) { repeat(LARGE) { ring.add(1, STAYS, shared) } }
                                ready.incrementAndGet()
                                while (ready.get() < 2 * (round + 1)) check(System.nanoTime() < end) { "one is alone" }
                                taker.take(LARGE)
                            }
                        },
                    )
                }.forEach { it.get(1, TimeUnit.MINUTES) }
            }
            shared.count() shouldBe 0
        }
    })
