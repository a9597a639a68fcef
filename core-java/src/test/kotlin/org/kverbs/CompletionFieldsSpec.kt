package org.kverbs

import com.sun.management.ThreadMXBean
import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.attributes.CompletionField
import org.kverbs.attributes.CompletionField.CUSTOMER_VLAN
import org.kverbs.attributes.CompletionField.FLOW_TAG
import org.kverbs.attributes.CompletionField.TAG_INFO
import org.kverbs.attributes.CompletionField.TIMESTAMP
import org.kverbs.attributes.CompletionField.WALL_CLOCK
import java.lang.management.ManagementFactory
import java.time.Instant

/** Tests the fields of completions that a driver reads by functions of their own, on null0. */
class CompletionFieldsSpec :
    FunSpec({
        onNullDevice()

        fun NullBench.queueWith(vararg fields: CompletionField) =
            context.completionQueue(CompletionQueueAttributes.of(64).with(*fields))

        test("should read every field by the function of the driver, in its width") {
            NullBench().use { bench ->
                val cq = bench.queueWith(*CompletionField.entries.toTypedArray())
                NullVerbs.complete(cq, listOf(5, 6))
                val batch = WorkCompletions(8)
                cq.poll(batch) shouldBe 2
                val done = batch.get(1)
                done.workRequestId() shouldBe 6
                done.completionTimestamp() shouldBe 60
                done.wallClockNanos() shouldBe 6_000_000_042
                done.wallClock() shouldBe Instant.ofEpochSecond(6, 42)
                done.customerVlan() shouldBe 0xf006
                Integer.toUnsignedLong(done.flowTag()) shouldBe 0xf0000006
                done.matchedTag() shouldBe (6L shl 32)
                Integer.toUnsignedLong(done.matchedTagData()) shouldBe 0xe0000006
                batch.get(0).completionTimestamp() shouldBe 50
                CompletionField.entries.all { done.has(it) } shouldBe true
            }
        }

        test("should call no function of a field that was not asked for, since the driver has none") {
            NullBench().use { bench ->
                for (field in CompletionField.entries) {
                    val cq = bench.queueWith(field)
                    NullVerbs.complete(cq, listOf(1))
                    val done = cq.await(1, java.time.Duration.ofSeconds(5)).single()
                    CompletionField.entries.filter { done.has(it) } shouldContainExactly listOf(field)
                    cq.options().fields() shouldBe setOf(field)
                }
            }
        }

        test("should keep the fields of each completion, though handlers throw at any of them") {
            NullBench().use { bench ->
                val cq = bench.queueWith(TIMESTAMP, TAG_INFO)
                NullVerbs.complete(cq, 1L..50L)
                val seen = mutableListOf<Pair<Long, Long>>()
                val wrongTags = mutableListOf<Long>()
                val batch = WorkCompletions(3)
                var turn = 0
                while (seen.size < 50) {
                    check(turn < 200) { "${seen.size} after $turn polls" }
                    if (turn++ % 3 == 2) {
                        repeat(cq.poll(batch)) {
                            seen +=
                                batch.get(it).let { w -> w.workRequestId() to w.completionTimestamp() }
                        }
                    } else {
                        runCatching {
                            cq.poll({
                                seen += it.workRequestId() to it.completionTimestamp()
                                wrongTags += it.matchedTag() - (it.workRequestId() shl 32)
                                if (seen.size % 4 == 0) error("the handler's")
                            }, 20)
                        }
                    }
                }
                seen shouldContainExactly (1L..50L).map { it to it * 10 }
                wrongTags.toSet() shouldBe setOf(0L)
            }
        }

        test("should copy the fields with the completion, and drop them when a plain queue fills the batch") {
            NullBench().use { bench ->
                val cq = bench.queueWith(TIMESTAMP, FLOW_TAG)
                NullVerbs.complete(cq, listOf(7, 8))
                NullVerbs.complete(bench.cq, listOf(9))
                val batch = WorkCompletions(2)
                cq.poll(batch) shouldBe 2
                val kept = batch.get(1).copy().copy()
                bench.cq.poll(batch) shouldBe 1
                batch.get(0).has(TIMESTAMP) shouldBe false
                shouldThrow<IllegalStateException> { batch.get(0).flowTag() }.message shouldContain
                    "was made without the field FLOW_TAG"
                shouldThrow<IllegalStateException> { batch.get(0).copy().completionTimestamp() }
                shouldThrow<IllegalStateException> { kept.customerVlan() }.message shouldContain CUSTOMER_VLAN.name
                kept.completionTimestamp() shouldBe 80
            }
        }

        test("should take a poll that found the wall clock being written for an empty one, as mlx5 may answer EBUSY") {
            NullBench().use { bench ->
                val cq = bench.queueWith(WALL_CLOCK)
                NullVerbs.complete(cq, listOf(1))
                NullVerbs.set(NullVerbs.Option.BUSY_POLLS, 2)
                val batch = WorkCompletions(4)
                cq.poll(batch) shouldBe 0
                cq.poll(batch) shouldBe 0
                cq.poll(batch) shouldBe 1
            }
        }

        test("should pass the flags and the parent domain, and neither if none is set") {
            NullBench().use { bench ->
                val options = CompletionQueueOptions.NONE
                NullVerbs.flags(bench.extendedCompletionQueue()) shouldBe 0
                for ((given, flags) in mapOf(
                    options.asSingleThreaded() to 1,
                    options.ignoringOverrun() to 2,
                    options.asSingleThreaded().ignoringOverrun() to 3,
                )) {
                    val cq = bench.context.completionQueue(CompletionQueueAttributes.of(8).with(given))
                    NullVerbs.flags(cq) shouldBe flags
                    cq.options() shouldBe given
                }
                val domain = bench.pd.parentDomain()
                val cq = bench.context.completionQueue(CompletionQueueAttributes.of(8).with(options.with(domain)))
                domain.close()
                cq.isOpen shouldBe false
            }
        }

        test("should allocate nothing when completions with fields are polled") {
            NullBench().use { bench ->
                val cq = bench.queueWith(TIMESTAMP, WALL_CLOCK)
                NullVerbs.set(NullVerbs.Option.ENDLESS, 1)
                val batch = WorkCompletions(16)
                var sum = 0L
                val handler = CompletionHandler { sum += it.completionTimestamp() + it.wallClockNanos() }
                val threads = ManagementFactory.getThreadMXBean() as ThreadMXBean
                var bytes = 1L
                val deadline = System.nanoTime() + 20_000_000_000
                while (bytes != 0L && System.nanoTime() < deadline) {
                    val before = threads.currentThreadAllocatedBytes
                    for (i in 0 until 20_000) {
                        check(cq.poll(batch) == 16)
                        sum += batch.get(15).completionTimestamp()
                        cq.poll(handler, 4)
                    }
                    bytes = threads.currentThreadAllocatedBytes - before
                }
                withClue("sum $sum") { bytes shouldBe 0 }
            }
        }

        test("should say so when the driver does not have an option, and which drivers do") {
            NullBench(extended = false).use { bench ->
                val refused = shouldThrow<UnsupportedVerbException> { bench.queueWith(TIMESTAMP, FLOW_TAG) }
                refused.operation() shouldBe "ibv_create_cq_ex"
                refused.message shouldContain "fields=[TIMESTAMP, FLOW_TAG]"
                refused.message shouldContain "The driver mlx5 has the flow tag of a completion."
            }
        }
    })
