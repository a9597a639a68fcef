package org.kverbs.internal

import io.kotest.assertions.nondeterministic.eventually
import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.Device
import org.kverbs.NullVerbs
import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicInteger
import kotlin.time.Duration.Companion.seconds

/** A guard whose bias a thread has: more entries than the first streak needs. */
private fun biased(): Guard {
    val guard = Guard()
    repeat(100) {
        guard.enter() shouldBe true
        guard.exit()
    }
    guard.isBiased shouldBe true
    return guard
}

class BiasSpec :
    FunSpec({
        beforeSpec {
            NullVerbs.reset() // loads the library
            Device.list()
            eventually(20.seconds) { ProcessFence.isAvailable() shouldBe true }
        }

        test("should have the fence of Linux soon after a guard wanted it") {
            eventually(20.seconds) { ProcessFence.isAvailable() shouldBe true }
        }

        test("should give a thread that enters alone many times in a row the bias, and take it away for another one") {
            val guard = biased()
            inThreads(1) {
                guard.enter() shouldBe true
                guard.isBiased shouldBe false
                guard.exit()
            }
            repeat(100) {
                guard.enter() shouldBe true
                guard.exit()
            }
            guard.isBiased shouldBe false
            repeat(1_000) {
                guard.enter() shouldBe true
                guard.exit()
            }
            guard.isBiased shouldBe true
        }

        test("should take the bias away for a shared entry") {
            val guard = biased()
            guard.enterShared() shouldBe true
            guard.isBiased shouldBe false
            guard.exitShared()
        }

        test("should refuse the thread of the bias while it is inside, instead of waiting for itself") {
            val guard = biased()
            guard.enter() shouldBe true
            guard.isMine shouldBe true
            inThreads(1) { guard.isMine shouldBe false }
            listOf<() -> Unit>({ guard.enter() }, { guard.enterShared() }, { guard.beginClose() }).forEach {
                shouldThrow<IllegalStateException>(it).message shouldContain "would wait for itself"
            }
            guard.exit()
            guard.isMine shouldBe false
            guard.enter() shouldBe true
            guard.exit()
        }

        test("should turn a thread away at once that tries to enter while another one, or it itself, is inside") {
            for (guard in listOf(Guard(), biased())) {
                guard.tryEnter() shouldBe true
                guard.tryEnter() shouldBe false
                inThreads(1) { guard.tryEnter() shouldBe false }
                guard.exitAndSee()
                inThreads(1) {
                    guard.tryEnter() shouldBe true
                    guard.exit()
                }
                guard.tryEnter() shouldBe true
                guard.exit()
            }
        }

        test("should give the bias to a thread that tries to enter alone many times in a row") {
            val guard = Guard()
            repeat(100) {
                guard.tryEnter() shouldBe true
                guard.exitAndSee()
            }
            guard.isBiased shouldBe true
            guard.beginClose()
            guard.tryEnter() shouldBe false
        }

        test("should leave no work undone that a thread brings which finds another one inside") {
            repeat(200) { round ->
                val guard = if (round % 2 == 0) biased() else Guard()
                val brought = AtomicInteger()
                val done = AtomicInteger()

                fun work() {
                    while (brought.get() > done.get() && guard.tryEnter()) {
                        while (brought.get() > done.get()) done.incrementAndGet()
                        guard.exitAndSee()
                    }
                }
                inThreads(2) {
                    repeat(500) {
                        brought.incrementAndGet()
                        work()
                    }
                }
                done.get() shouldBe brought.get()
            }
        }

        test("should let the thread of the bias in no more once a close has begun") {
            val guard = biased()
            inThreads(1) { guard.beginClose() }
            guard.enter() shouldBe false
            guard.awaitDrained()
        }

        test("should let one thread in at a time, whoever has the bias") {
            var taken = 0
            repeat(300) { round ->
                val guard = Guard()
                val plain = LongArray(2) // always equal outside
                val entries = LongArray(3)
                inThreads(3) { number ->
                    val bursts = 40
                    repeat(bursts) { burst ->
                        val had = guard.isBiased
                        repeat(if (number == burst % 3) 400 else 1 + round % 3) {
                            guard.enter() shouldBe true
                            check(plain[0] == plain[1]) { "two threads are inside" }
                            plain[0]++
                            plain[1]++
                            guard.exit()
                            entries[number]++
                        }
                        if (had && !guard.isBiased) taken++
                    }
                }
                plain[0] shouldBe entries.sum()
            }
            taken shouldBeGreaterThan 100
        }

        test("should have nobody inside once a close has waited, though a thread had the bias") {
            var late = 0
            repeat(3_000) { round ->
                val guard = Guard()
                val drained = intArrayOf(0)
                val ready = CountDownLatch(1)
                val seen = AtomicInteger()
                inThreads(2) { number ->
                    if (number == 0) {
                        ready.await()
                        repeat(round % 300) { Thread.onSpinWait() }
                        guard.beginClose()
                        guard.awaitDrained()
                        drained[0] = 1 // a plain write: a thread that is still inside would see it
                    } else {
                        var entered = 0
                        while (guard.enter()) {
                            if (drained[0] != 0) seen.incrementAndGet()
                            guard.exit()
                            if (++entered == 200) ready.countDown()
                        }
                    }
                }
                late += seen.get()
                guard.enter() shouldBe false
            }
            late shouldBe 0
        }
    })
