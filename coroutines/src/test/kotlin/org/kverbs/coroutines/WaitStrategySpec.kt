package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.longs.shouldBeLessThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.withContext
import kotlinx.coroutines.yield
import org.kverbs.coroutines.WaitStrategy.Companion.EVENT
import org.kverbs.coroutines.WaitStrategy.Companion.SPIN
import org.kverbs.dsl.get
import org.kverbs.dsl.openDevice
import java.lang.management.ManagementFactory
import kotlin.time.Duration
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.microseconds
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import java.time.Duration as JavaDuration

class WaitStrategySpec :
    FunSpec({
        timeout = 60_000

        fun WaitStrategy.idle(rounds: IntRange) = rounds.map { idle(it) }

        test("should always poll again at once in busy mode") {
            for (rounds in listOf(1, 1000, Int.MAX_VALUE)) WaitStrategy.busy().idle(rounds) shouldBe SPIN
        }

        test("should wait for an event at once in event mode") {
            for (rounds in listOf(1, 1000, Int.MAX_VALUE)) WaitStrategy.event().idle(rounds) shouldBe EVENT
        }

        test("should poll the given number of times in adaptive mode, and then wait for an event") {
            WaitStrategy.adaptive(2).idle(1..4) shouldContainExactly listOf(SPIN, SPIN, EVENT, EVENT)
            WaitStrategy.adaptive(0).idle(1) shouldBe EVENT
            WaitStrategy.adaptive(2000).idle(Int.MAX_VALUE) shouldBe EVENT
        }

        for ((what, wait) in mapOf<String, suspend (Job) -> Unit>(
            "poll all the time" to { it.join() },
            "poll for a coroutine that waits by yield()" to { while (it.isActive) yield() },
        )) {
            test("should let virtual threads run while as many as there are processors $what") {
                openDevice("embedded0").use { device ->
                    val end = Job()
                    val pollers =
                        List(Runtime.getRuntime().availableProcessors() + 1) {
                            val dispatcher =
                                device.completionDispatcher {
                                    callerPolls()
                                    strategy(WaitStrategy.busy())
                                }
                            Thread.startVirtualThread { dispatcher.run { wait(end) } }
                        }
                    Thread.startVirtualThread { end.complete() }
                    try {
                        pollers.map { it.join(JavaDuration.ofSeconds(20)) } shouldContainExactly pollers.map { true }
                    } finally {
                        end.complete()
                    }
                }
            }
        }

        test("should sleep twice as long each time in back-off mode, up to the longest") {
            val strategy = WaitStrategy.backOff(spins = 3, from = 1.microseconds, upTo = 10.microseconds)
            strategy.idle(1..9) shouldContainExactly listOf(SPIN, SPIN, SPIN, 1000, 2000, 4000, 8000, 10_000, 10_000)
            for (rounds in listOf(34, 35, 66, 67, 1000, Int.MAX_VALUE)) strategy.idle(rounds) shouldBe 10_000
        }

        test(
            "should lengthen its sleep up to the longest back-off, for all durations",
        ) {
            for ((from, upTo) in listOf(
                1.microseconds to 1.hours,
                10.seconds to 1.hours,
                7.microseconds to 7.microseconds,
            )) {
                val sleeps = WaitStrategy.backOff(spins = 0, from = from, upTo = upTo).idle(1..100)
                withClue("$from to $upTo: $sleeps") {
                    sleeps.first() shouldBe from.inWholeNanoseconds
                    sleeps shouldContainExactly sleeps.sorted()
                    sleeps.last() shouldBe upTo.inWholeNanoseconds
                }
            }
        }

        test("should refuse invalid settings") {
            shouldThrow<IllegalArgumentException> { WaitStrategy.backOff(spins = -1) }.message shouldContain
                "spins(-1): give 0 or more"
            shouldThrow<IllegalArgumentException> { WaitStrategy.backOff(from = Duration.ZERO) }.message shouldContain
                "0s"
            shouldThrow<IllegalArgumentException> {
                WaitStrategy.backOff(
                    from = 2.milliseconds,
                    upTo = 1.milliseconds,
                )
            }.message shouldContain
                "2ms"
            shouldThrow<IllegalArgumentException> { WaitStrategy.adaptive(-2) }.message shouldContain
                "rounds(-2): give 0 or more"
        }

        test("should use almost no processor time while nothing comes in event and adaptive mode, unlike busy mode") {
            val strategies = listOf(WaitStrategy.busy(), WaitStrategy.event(), WaitStrategy.adaptive())
            val ends = strategies.map { strategy -> TwoEnds(dispatcher = { strategy(strategy) }) }
            try {
                val threads = ends.map { traffic(it) }
                val times = ManagementFactory.getThreadMXBean()
                val before = threads.map { times.getThreadCpuTime(it) }

                fun used() = threads.mapIndexed { i, it -> times.getThreadCpuTime(it) - before[i] }
                // On a busy machine the busy thread gets a second of a processor only after several seconds.
                while (used().first() < BUSY_NANOS) Thread.sleep(10)
                val (busy, event, adaptive) = used()
                withClue("CPU time in ns: busy $busy, event $event, adaptive $adaptive") {
                    event shouldBeLessThan busy / 20
                    adaptive shouldBeLessThan busy / 20
                }
            } finally {
                ends.forEach { it.close() }
            }
        }
    }) {
    private companion object {
        const val BUSY_NANOS = 1_000_000_000L
    }
}

/** Sends a message between the ends, so that the dispatcher was used before. Returns the client's polling thread. */
private suspend fun traffic(ends: TwoEnds): Long =
    withContext(Dispatchers.Default) {
        repeat(100) { ends.client.qp.write(ends.client.region[0, 8], to = ends.server.region.remote()) }
        withContext(ends.client.dispatcher.coroutineDispatcher) { Thread.currentThread().threadId() }
    }
