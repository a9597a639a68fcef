package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.comparables.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.WorkCompletionStatus.RETRY_EXC_ERR
import org.kverbs.WorkCompletions
import org.kverbs.attributes.ConnectOptions
import java.time.Duration
import java.time.Duration.ZERO
import java.time.Duration.ofMillis
import java.time.Duration.ofSeconds

private val slow = ConnectOptions.builder().timeout(18).retryCount(7).build()

class VirtualClockSpec :
    FunSpec({
        test("should stand still for polls and waits while it is held, and move on to each timer when it is told") {
            Pair(EmbeddedFabric.virtual(1), options = slow).use { pair ->
                val (a, b) = pair
                val clock = pair.fabric.clock()
                clock.hold()
                pair.fabric.partition(pair.client, pair.server)
                a.post { write(1, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() }
                val batch = WorkCompletions(1)
                repeat(1000) { a.cq.poll(batch) shouldBe 0 }
                a.context.completionChannel().use { it.awaitEvent(ofMillis(20)) } shouldBe null
                clock.elapsed() shouldBe ZERO
                var steps = 0
                while (a.cq.poll(batch) == 0) if (clock.next()) steps++
                batch.get(0).status() shouldBe RETRY_EXC_ERR
                clock.elapsed() shouldBeGreaterThan ofSeconds(7)
                steps shouldBe 8 // seven retries and the end of the last
                clock.next() shouldBe false
            }
        }

        test(
            "should call actions in the order of their times, between its own timers, and not those that were " +
                "cancelled",
        ) {
            EmbeddedFabric.virtual(1).use { fabric ->
                val clock = fabric.clock()
                val told = mutableListOf<kotlin.Pair<Int, Duration>>()
                for (seconds in listOf(3, 1, 2)) {
                    clock.after(ofSeconds(seconds.toLong())) {
                        told +=
                            seconds to clock.elapsed()
                    }
                }
                clock.after(ofMillis(1500)) { error("cancelled") }.run()
                told.shouldBeEmpty()
                clock.advance(ofSeconds(2))
                told shouldContainExactly listOf(1 to ofSeconds(1), 2 to ofSeconds(2))
                val late = clock.after(ofSeconds(Long.MAX_VALUE)) { error("never") }
                clock.next() shouldBe true
                told.last() shouldBe (3 to ofSeconds(3))
                late.run()
                late.run()
                clock.next() shouldBe false
                shouldThrow<IllegalArgumentException> { clock.after(ofMillis(-1)) {} }
            }
        }

        test("should end a wait for a sender that retries for ever because its peer posts no receive, and tell why") {
            val endless = ConnectOptions.builder().rnrRetry(7).build()
            Pair(EmbeddedFabric.virtual(1), options = endless).use { pair ->
                val (a, b) = pair
                a.post { send(1).from(a.mr.slice(0, 8)).signaled() }
                val batch = WorkCompletions(1)
                shouldThrow<IllegalStateException> { while (a.cq.poll(batch) == 0) Unit }.message shouldContain
                    "rnr_retry 7"
                shouldThrow<IllegalStateException> {
                    a.context.completionChannel().use { it.awaitEvent(Duration.ofDays(10_000)) }
                }.message shouldContain "rnr_retry 7"
                pair.fabric.clock().hold()
                shouldThrow<IllegalStateException> { while (pair.fabric.clock().next()) Unit }.message shouldContain
                    "rnr_retry 7"
                b.qp.postReceive(2, b.mr.slice(0, 8))
                while (a.cq.poll(batch) == 0) pair.fabric.clock().next()
                batch.get(0).isSuccess shouldBe true
            }
        }

        test("should let an action change the fabric in the middle of a transfer") {
            Pair(EmbeddedFabric.virtual(1), options = slow).use { pair ->
                val (a, b) = pair
                pair.fabric.partition(pair.client, pair.server)
                pair.fabric.clock().after(ofSeconds(2)) { pair.fabric.heal(pair.client, pair.server) }
                a.post { write(1, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() }
                a.take(1).single().isSuccess shouldBe true
                pair.fabric.clock().elapsed() shouldBeGreaterThan ofSeconds(2)
            }
        }
    })
