package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.collections.shouldBeSorted
import io.kotest.matchers.comparables.shouldBeBetween
import io.kotest.matchers.doubles.shouldBeBetween
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.CompletionHandler
import org.kverbs.CompletionQueue
import org.kverbs.CompletionQueueAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletions
import org.kverbs.acceptance.contract.Capability.CLOCK
import org.kverbs.acceptance.contract.Capability.RAW_CONNECT
import org.kverbs.acceptance.contract.Capability.RESIZE_CQ
import org.kverbs.acceptance.contract.Capability.TIMESTAMPS
import org.kverbs.attributes.CompletionField
import org.kverbs.attributes.CompletionField.CUSTOMER_VLAN
import org.kverbs.attributes.CompletionField.FLOW_TAG
import org.kverbs.attributes.CompletionField.TAG_INFO
import org.kverbs.attributes.CompletionField.TIMESTAMP
import org.kverbs.attributes.CompletionField.WALL_CLOCK
import java.time.Duration
import java.time.Instant
import kotlin.math.abs

/** Checks the fields of completions that a queue has only if it was made with them, and the clock behind them. */
internal class TimestampSpec :
    ContractSpec({
        fun Bench.stamped(vararg fields: CompletionField = arrayOf(TIMESTAMP, WALL_CLOCK)): CompletionQueue =
            context.completionQueue(CompletionQueueAttributes.of(128).with(*fields))

        case("should stamp completions in their order, by both clocks", RAW_CONNECT, TIMESTAMPS) {
            val started = Instant.now()
            val (a, b) = linked(a = end(cq = stamped()))
            writes(a, b, 8)
            val done = a.cq.take(8)
            done.map { it.completionTimestamp() }.shouldBeSorted()
            done.map { it.wallClockNanos() }.shouldBeSorted()
            done.forEach {
                abs(Duration.between(started, it.wallClock()).toSeconds()) shouldBe 0L
                it.has(TIMESTAMP) shouldBe true
                it.has(FLOW_TAG) shouldBe false
            }
        }

        case("should stamp by the clock that the device tells", RAW_CONNECT, TIMESTAMPS, CLOCK) {
            val (a, b) = linked(a = end(cq = stamped(TIMESTAMP)))
            val before = context.queryClock()
            writes(a, b, 1)
            val stamp = a.cq.takeOne().completionTimestamp()
            stamp.shouldBeBetween(before, context.queryClock())
        }

        case("should tick as often as the device says", CLOCK) {
            val kilohertz = context.queryDeviceEx().hcaCoreClock()
            val ticks = context.queryClock()
            val nanos = System.nanoTime()
            Thread.sleep(50)
            val measured = (context.queryClock() - ticks) * 1_000_000.0 / (System.nanoTime() - nanos)
            (measured / kilohertz).shouldBeBetween(0.8, 1.2, 0.0)
        }

        case("should give the fields to handlers, batches and copies alike", RAW_CONNECT, TIMESTAMPS) {
            val (a, b) = linked(a = end(cq = stamped(TIMESTAMP)))
            completedWrites(a, b, 6)
            val stamps = mutableListOf<Long>()
            var kept: WorkCompletion? = null
            val failing =
                CompletionHandler {
                    stamps += it.completionTimestamp()
                    if (stamps.size == 2) {
                        kept = it.copy()
                        error("the handler's")
                    }
                }
            shouldThrow<IllegalStateException> { a.cq.poll(failing, 100) }.message shouldBe "the handler's"
            // the rest of that batch comes by a batch of another size, and then by a handler
            val batch = WorkCompletions(3)
            await("the rest") { a.cq.poll(batch) == 3 }
            repeat(3) { stamps += batch.get(it).completionTimestamp() }
            await("the last") { a.cq.poll({ stamps += it.completionTimestamp() }, 5) == 1 }
            stamps.size shouldBe 6
            stamps.shouldBeSorted()
            checkNotNull(kept).completionTimestamp() shouldBe stamps[1]
        }

        case(
            "should keep the fields of waiting completions when a queue is resized",
            RAW_CONNECT,
            TIMESTAMPS,
            RESIZE_CQ,
        ) {
            val (a, b) = linked(a = end(cq = stamped(TIMESTAMP)))
            completedWrites(a, b, 10)
            val batch = WorkCompletions(3)
            a.cq.poll(batch) shouldBe 3
            val first = List(3) { batch.get(it).completionTimestamp() }
            a.cq.resize(400)
            val rest = a.cq.take(7).map { it.completionTimestamp() }
            (first + rest).shouldBeSorted()
            (rest.last() != 0L) shouldBe true
        }

        case(
            "should say of a plain queue, and of a batch that polled one last, that it has no such field",
            RAW_CONNECT,
        ) {
            val (a, b) = linked()
            writes(a, b, 1)
            val done = a.cq.takeOne()
            for (read in listOf<(WorkCompletion) -> Any>(
                { it.completionTimestamp() },
                { it.wallClockNanos() },
                { it.wallClock() },
                { it.customerVlan() },
                { it.flowTag() },
                { it.matchedTag() },
                { it.matchedTagData() },
            )) {
                shouldThrow<IllegalStateException> { read(done) }.message shouldContain "was made without the field"
            }
            shouldThrow<IllegalStateException> { done.completionTimestamp() }.message shouldBe
                "the completion queue was made without the field TIMESTAMP: make it with completionQueue " +
                "{ fields(TIMESTAMP) }, or with CompletionQueueOptions.with(TIMESTAMP)"
        }

        case("should take one batch for queues with and without fields", RAW_CONNECT, TIMESTAMPS) {
            val (a, b) = linked(a = end(cq = stamped(TIMESTAMP)))
            val (c, d) = linked()
            val batch = WorkCompletions(4)
            writes(a, b, 1)
            await("a stamped completion") { a.cq.poll(batch) == 1 }
            batch.get(0).has(TIMESTAMP) shouldBe true
            writes(c, d, 1)
            await("a plain completion") { c.cq.poll(batch) == 1 }
            batch.get(0).has(TIMESTAMP) shouldBe false
            shouldThrow<IllegalStateException> { batch.get(0).completionTimestamp() }
            a.cq.poll(batch) shouldBe 0
        }

        val lacking = if (device.can(arrayOf(Capability.TAG_MATCHING))) emptyList() else listOf(TAG_INFO)
        for (field in listOf(CUSTOMER_VLAN, FLOW_TAG) + lacking) {
            case("should refuse $field, which no device here has, and name the drivers that do") {
                val refusal = shouldThrow<RdmaSystemException> { stamped(field) }
                refusal.operation() shouldBe "ibv_create_cq_ex"
                refusal.message shouldContain "fields=[$field]"
                refusal.message shouldContain "mlx5"
            }
        }
    })
