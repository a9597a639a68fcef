package org.kverbs.internal

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.comparables.shouldBeGreaterThan
import io.kotest.matchers.longs.shouldBeLessThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import java.lang.management.ManagementFactory
import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicInteger
import kotlin.concurrent.thread

class GuardSpec :
    FunSpec({
        test("should let one thread in at a time") {
            val guard = Guard()
            val plain = IntArray(1)
            inThreads(4) {
                repeat(50_000) {
                    guard.enter() shouldBe true
                    plain[0]++
                    guard.exit()
                }
            }
            plain[0] shouldBe 200_000
        }

        test("should let shared entries in beside each other, and none beside an exclusive one") {
            val guard = Guard()
            val plain = LongArray(2) // always equal, but while an exclusive entry writes
            val inside = AtomicInteger()
            val together = AtomicInteger()
            val torn = AtomicInteger()
            inThreads(4) { number ->
                repeat(30_000) {
                    if (number == 0) {
                        guard.enter()
                        plain[0]++
                        Thread.onSpinWait()
                        plain[1]++
                        guard.exit()
                    } else {
                        guard.enterShared()
                        if (inside.incrementAndGet() > 1) together.incrementAndGet()
                        if (plain[0] != plain[1]) torn.incrementAndGet()
                        if (it % 64 == 0) Thread.yield()
                        inside.decrementAndGet()
                        guard.exitShared()
                    }
                }
            }
            torn.get() shouldBe 0
            together.get() shouldBeGreaterThan 0
        }

        test("should have nobody inside once a close has waited, and let nobody in") {
            repeat(500) { round ->
                val guard = Guard()
                val drained = intArrayOf(0)
                val late = AtomicInteger()
                val started = CountDownLatch(3)
                inThreads(4) { number ->
                    if (number == 0) {
                        started.await()
                        repeat(round % 50) { Thread.onSpinWait() }
                        guard.beginClose()
                        guard.awaitDrained()
                        drained[0] = 1 // a plain write: a thread that is still inside would race with it and see it
                    } else {
                        started.countDown()
                        while (if (number == 1) guard.enter() else guard.enterShared()) {
                            if (drained[0] != 0) late.incrementAndGet()
                            if (number == 1) guard.exit() else guard.exitShared()
                        }
                    }
                }
                late.get() shouldBe 0
                guard.enter() shouldBe false
                guard.enterShared() shouldBe false
            }
        }

        test("should let every closer return, and wait for the threads inside") {
            val guard = Guard()
            val returned = AtomicInteger()
            guard.enterShared()
            val closers =
                List(3) {
                    thread {
                        guard.beginClose()
                        guard.awaitDrained()
                        returned.incrementAndGet()
                    }
                }
            Thread.sleep(20)
            returned.get() shouldBe 0
            guard.exitShared()
            closers.forEach { it.join() }
            returned.get() shouldBe 3
            guard.isClosing shouldBe true
        }

        test("should refuse a thread that is alone inside, instead of waiting for itself") {
            val guard = Guard()
            guard.enter()
            guard.isMine shouldBe true
            listOf<() -> Unit>({ guard.enter() }, { guard.enterShared() }, { guard.beginClose() }).forEach {
                shouldThrow<IllegalStateException>(it).message shouldContain "would wait for itself"
            }
            inThreads(1) { guard.isMine shouldBe false }
            guard.exit()
            guard.isMine shouldBe false

            guard.enter() shouldBe true
            guard.exit()
            guard.enterShared() shouldBe true
            guard.exitShared()
            guard.isClosing shouldBe false
        }

        test("should let an interrupted thread wait its turn, and leave it interrupted") {
            val guard = Guard()
            val entered = AtomicInteger()
            guard.enter()
            val waiting =
                thread {
                    Thread.currentThread().interrupt()
                    guard.enter() shouldBe true
                    entered.set(if (Thread.currentThread().isInterrupted) 2 else 1)
                    guard.exit()
                }
            Thread.sleep(20)
            entered.get() shouldBe 0
            guard.exit()
            waiting.join()
            entered.get() shouldBe 2
        }

        test("should wake a waiting thread when it may enter, and let it sleep until then") {
            val guard = Guard()
            guard.enter()
            val waiting =
                thread {
                    guard.enter() shouldBe true
                    guard.exit()
                }
            while (!waiting.isParked()) Thread.sleep(1)
            val wakes = waiting.waits()
            val start = System.nanoTime()
            Thread.sleep(500)
            val woken = waiting.waits() - wakes
            // a thread that checks every 50 us wakes up to twenty times in a millisecond
            woken shouldBeLessThan (System.nanoTime() - start) / 1_000_000 + 20
            guard.exit()
            waiting.join()
        }

        test("should let all waiting threads in, those alone one after the other") {
            val guard = Guard()
            val rounds = 20
            val inside = AtomicInteger()
            repeat(rounds) {
                guard.enter()
                val waiting =
                    List(4) { number ->
                        thread {
                            if (number % 2 == 0) guard.enter() else guard.enterShared()
                            inside.incrementAndGet()
                            if (number % 2 == 0) guard.exit() else guard.exitShared()
                        }
                    }
                while (it % 2 == 0 && waiting.any { thread -> !thread.isParked() }) Thread.sleep(1)
                guard.exit()
                waiting.forEach { thread -> thread.join() }
            }
            inside.get() shouldBe 4 * rounds
        }

        test("should turn all waiting threads away when it closes") {
            val guard = Guard()
            guard.enter()
            val answers = List(4) { AtomicInteger(-1) }
            val waiting =
                List(4) { number ->
                    thread {
                        val entered = if (number % 2 == 0) guard.enter() else guard.enterShared()
                        answers[number].set(if (entered) 1 else 0)
                    }
                }
            while (waiting.any { !it.isParked() }) Thread.sleep(1)
            thread { guard.beginClose() }.join()
            waiting.forEach { it.join() }
            answers.map { it.get() } shouldBe listOf(0, 0, 0, 0)
            guard.exit()
            guard.awaitDrained()
        }
    })

private fun Thread.isParked() = state == Thread.State.TIMED_WAITING

/** Returns how often the thread has begun to wait. */
private fun Thread.waits(): Long = ManagementFactory.getThreadMXBean().getThreadInfo(threadId()).waitedCount

/** Runs the block in so many threads at once, waits for all, and fails if one failed. */
internal fun inThreads(
    count: Int,
    block: (Int) -> Unit,
) {
    val failures = mutableListOf<Throwable>()
    val threads =
        List(count) { number ->
            thread {
                runCatching { block(number) }.onFailure { synchronized(failures) { failures += it } }
            }
        }
    threads.forEach { it.join() }
    failures.firstOrNull()?.let { throw it }
}
