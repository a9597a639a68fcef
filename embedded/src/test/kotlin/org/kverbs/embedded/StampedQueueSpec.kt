package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.CompletionQueue
import org.kverbs.CompletionQueueAttributes
import org.kverbs.CompletionQueueOptions
import org.kverbs.QueuePairInitAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.UnsupportedVerbException
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletions
import org.kverbs.attributes.CompletionField.FLOW_TAG
import org.kverbs.attributes.CompletionField.TIMESTAMP
import org.kverbs.attributes.CompletionField.WALL_CLOCK
import org.kverbs.attributes.QueuePairType.RC
import java.time.Duration
import java.time.Instant
import java.util.function.Consumer

/** Checks the options of completion queues, thread domains and the clock on a fabric of virtual time. */
class StampedQueueSpec :
    FunSpec({
        fun sentence(
            name: String,
            body: Pair.() -> Unit,
        ) = test(name) { Pair(EmbeddedFabric.virtual(1)).use { it.body() } }

        fun Pair.queue(
            entries: Int = 64,
            options: CompletionQueueOptions = CompletionQueueOptions.NONE.with(TIMESTAMP, WALL_CLOCK),
        ): CompletionQueue = a.context.completionQueue(CompletionQueueAttributes.of(entries).with(options))

        fun Pair.linkedOn(cq: CompletionQueue) =
            a.pd.queuePair(QueuePairInitAttributes.of(RC, cq)).also { qp ->
                val peer = b.pd.queuePair(QueuePairInitAttributes.of(RC, b.cq))
                qp.connect(peer.endpoint())
                peer.connect(qp.endpoint())
            }

        fun CompletionQueue.all(): List<WorkCompletion> {
            val batch = WorkCompletions(64)
            return List(poll(batch)) { batch.get(it).copy() }
        }

        sentence("should stamp by the virtual clock, which begins at 0 and at 1970") {
            val cq = queue()
            val qp = linkedOn(cq)
            for (index in 0L until 3L) {
                fabric.clock().advance(Duration.ofMillis(7))
                qp.postWith(Consumer { it.write(index, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() })
            }
            val done = cq.all()
            done.map { it.completionTimestamp() } shouldContainExactly listOf(7_000_000L, 14_000_000L, 21_000_000L)
            done[2].wallClock() shouldBe Instant.ofEpochMilli(21)
            a.context.queryClock() shouldBe fabric.clock().elapsed().toNanos()
            a.context.queryDeviceEx().hcaCoreClock() shouldBe 1_000_000
        }

        sentence("should keep the stamps of the others when a queue pair is reset") {
            val cq = queue()
            val (first, second) = List(2) { linkedOn(cq) }
            for (index in 0L until 6L) {
                fabric.clock().advance(Duration.ofMillis(1))
                val qp = if (index % 2 == 0L) first else second
                qp.postWith(Consumer { it.write(index, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() })
            }
            first.close()
            cq.all().map { it.workRequestId() to it.completionTimestamp() } shouldContainExactly
                listOf(1L to 2_000_000L, 3L to 4_000_000L, 5L to 6_000_000L)
        }

        sentence("should keep the stamps when a queue whose ring has turned is resized") {
            val cq = queue(4)
            val qp = linkedOn(cq)

            fun write(ids: LongRange) =
                ids.forEach { id ->
                    fabric.clock().advance(Duration.ofMillis(1))
                    qp.postWith(Consumer { it.write(id, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() })
                }
            write(1L..3L)
            cq.poll(WorkCompletions(2)) shouldBe 2
            write(4L..6L)
            cq.resize(9)
            write(7L..8L)
            cq.all().map { it.completionTimestamp() } shouldContainExactly (3L..8L).map { it * 1_000_000 }
        }

        sentence("should lose completions and stay usable if an overrun is ignored") {
            val cq = queue(2, CompletionQueueOptions.NONE.ignoringOverrun())
            val qp = linkedOn(cq)
            repeat(5) { index ->
                qp.postWith(Consumer { it.write(index.toLong(), b.mr.remote()).from(a.mr.slice(0, 8)).signaled() })
            }
            cq.all().map { it.workRequestId() } shouldContainExactly listOf(0L, 1L)
            qp.postWith(Consumer { it.write(9, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() })
            cq.all().map { it.workRequestId() } shouldContainExactly listOf(9L)
            a.context.awaitAsyncEvent(Duration.ZERO) shouldBe null
        }

        sentence("should give back the slots of requests whose completions an ignored overrun lost") {
            val cq = queue(2, CompletionQueueOptions.NONE.ignoringOverrun())
            val qp = linkedOn(cq)
            repeat(500) { round ->
                repeat(
                    5,
                ) { qp.postWith(Consumer { it.write(round * 5L, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() }) }
                cq.all().size shouldBe 2
            }
        }

        sentence("should refuse fields that it does not have, and name the drivers that have them") {
            val refusal =
                shouldThrow<UnsupportedVerbException> { queue(options = CompletionQueueOptions.NONE.with(FLOW_TAG)) }
            refusal.device() shouldBe a.context.device().name()
            refusal.message shouldContain "The driver mlx5 has the flow tag"
        }

        sentence("should count what a parent domain needs, and give all back") {
            repeat(3) {
                val threads = a.context.threadDomain()
                val domain = a.pd.parentDomain(threads)
                val nested = domain.parentDomain()
                val cq = queue(options = CompletionQueueOptions.NONE.with(nested))
                val region = nested.memoryRegion(64)
                nested.parent() shouldBe domain
                a.pd.queuePair(QueuePairInitAttributes.of(RC, cq)).close()
                domain.close()
                listOf(nested, cq, region).map { it.isOpen } shouldBe listOf(false, false, false)
                threads.close()
            }
        }

        sentence("should use memory of a parent domain's parent, and none of another domain") {
            val domain = a.pd.parentDomain(a.context.threadDomain())
            val other = a.context.protectionDomain()
            val qp = domain.parentDomain().queuePair(QueuePairInitAttributes.of(RC, a.cq))
            val peer = b.pd.queuePair(QueuePairInitAttributes.of(RC, b.cq))
            qp.connect(peer.endpoint())
            peer.connect(qp.endpoint())
            for ((region, works) in listOf(
                a.mr to true,
                domain.memoryRegion(8) to true,
                other.memoryRegion(8) to false,
            )) {
                qp.postWith(Consumer { it.write(1, b.mr.remote()).from(region.slice(0, 8)).signaled() })
                a.take(1).single().isSuccess shouldBe works
            }
        }

        sentence("should take part in injected failures") {
            val calls =
                mapOf<Operation, () -> Any>(
                    Operation.ALLOCATE_THREAD_DOMAIN to { a.context.threadDomain() },
                    Operation.ALLOCATE_PARENT_DOMAIN to { a.pd.parentDomain() },
                    Operation.QUERY_CLOCK to { a.context.queryClock() },
                    Operation.QUERY_PORT to { a.context.queryPortSpeed(1) },
                )
            for ((operation, call) in calls) {
                fabric.inject(Failure.of(operation, Errno.ENOMEM))
                shouldThrow<RdmaSystemException> { call() }.errnoName() shouldBe "ENOMEM"
                call()
            }
            shouldThrow<RdmaSystemException> { a.context.queryPortSpeed(2) }.errnoName() shouldBe "EINVAL"
            a.context.queryPortSpeed(1) shouldBe 2_500
        }
    })
