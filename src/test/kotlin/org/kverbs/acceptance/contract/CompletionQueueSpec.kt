package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.ints.shouldBeGreaterThanOrEqual
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.CompletionHandler
import org.kverbs.CompletionQueueAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.WorkCompletionOpcode.RDMA_WRITE
import org.kverbs.WorkCompletions
import org.kverbs.acceptance.contract.Capability.MODERATION
import org.kverbs.acceptance.contract.Capability.RAW_CONNECT
import org.kverbs.acceptance.contract.Capability.RESIZE_CQ
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UD
import java.time.Duration

/** Checks polling, sizes and events of completion queues. */
internal class CompletionQueueSpec :
    ContractSpec({
        case("should make a completion queue of at least the size asked for, on every vector") {
            repeat(minOf(context.completionVectors(), 4)) { vector ->
                context
                    .completionQueue(
                        CompletionQueueAttributes(10, null, vector),
                    ).entries() shouldBeGreaterThanOrEqual
                    10
            }
        }

        case("should make completion queues of one entry and of the largest size, with a channel and without") {
            val most = context.queryDevice().maxCqe()
            val vector = context.completionVectors() - 1
            for (entries in listOf(1, most / 2, most)) {
                for (channel in listOf(null, context.completionChannel())) {
                    context.completionQueue(CompletionQueueAttributes(entries, channel, vector)).use {
                        it.entries() shouldBeGreaterThanOrEqual entries
                    }
                }
            }
        }

        case("should refuse a vector that the device lacks, and a size beyond its largest") {
            val vector =
                shouldThrow<RdmaSystemException> {
                    context.completionQueue(CompletionQueueAttributes(10, null, context.completionVectors() + 1000))
                }
            vector.errnoName() shouldBe "EINVAL"
            val vectors = context.completionVectors()
            vector.advice() shouldBe
                "comp_vector ${vectors + 1000} is not below the device's num_comp_vectors of $vectors."
            val most = context.queryDevice().maxCqe()
            val size = shouldThrow<RdmaSystemException> { cq(most + 1) }
            size.errnoName() shouldBe "EINVAL"
            size.advice() shouldBe "cqe ${most + 1} is above the device's max_cqe of $most."
        }

        case("should resize an empty queue up and down", RESIZE_CQ) {
            val cq = cq(10)
            cq.resize(500)
            cq.entries() shouldBeGreaterThanOrEqual 500
            val large = cq.entries()
            cq.resize(5)
            (cq.entries() < large) shouldBe true
        }

        case(
            "should keep waiting completions when a queue is resized, and refuse a size below their number",
            RAW_CONNECT,
            RESIZE_CQ,
        ) {
            val (a, b) = linked()
            completedWrites(a, b, 20)
            shouldThrow<RdmaSystemException> { a.cq.resize(3) }.errnoName() shouldBe "EINVAL"
            a.cq.resize(1000)
            a.cq.take(20).forEachIndexed { i, done -> done.shouldBeDone(i + 1L, RDMA_WRITE, a.qp) }
        }

        case("should gather the completions of several queue pairs in one queue", RAW_CONNECT) {
            val cq = cq()
            val links = List(3) { linked(a = end(cq = cq)) }
            links.forEach { (a, b) -> writes(a, b, 5) }
            val done = cq.take(15)
            links.forEach { (a, _) ->
                done.filter { it.queuePairNumber() == a.qp.number() }.map { it.workRequestId() } shouldBe
                    (1L..5L).toList()
            }
        }

        case("should poll no more than the batch or the limit holds", RAW_CONNECT) {
            val (a, b) = linked()
            writes(a, b, 9)
            await("the last write") { b.mr.long(72) == 9L }
            val batch = WorkCompletions(4)
            await("four completions") { a.cq.poll(batch) == 4 }
            batch.size() shouldBe 4
            batch.get(3).workRequestId() shouldBe 4
            shouldThrow<IndexOutOfBoundsException> { batch.get(4) }
            val ids = mutableListOf<Long>()
            await("three more") { a.cq.poll({ ids += it.workRequestId() }, 3 - ids.size) >= 0 && ids.size == 3 }
            await("all") { a.cq.poll({ ids += it.workRequestId() }, 100) >= 0 && ids.size == 5 }
            ids shouldBe listOf(5L, 6L, 7L, 8L, 9L)
        }

        case("should lose no completion when a handler throws", RAW_CONNECT) {
            val (a, b) = linked()
            completedWrites(a, b, 6)
            val handled = mutableListOf<Long>()
            val failing =
                CompletionHandler {
                    handled += it.workRequestId()
                    if (handled.size == 2) error("handler broke at ${it.workRequestId()}")
                }
            shouldThrow<IllegalStateException> { a.cq.poll(failing, 100) }.message shouldBe "handler broke at 2"
            handled shouldBe listOf(1L, 2L)
            await("the rest") { a.cq.poll({ handled += it.workRequestId() }, 2) >= 0 && handled.size >= 4 }
            handled += a.cq.take(2).map { it.workRequestId() }
            handled shouldBe (1L..6L).toList()
        }

        for (type in listOf(RC, UD)) {
            case("should announce a completion of $type on the channel once it is armed", type.capability) {
                val channel = context.completionChannel()
                val link = linked(type, b = end(type, cq = cq(channel = channel)))
                val (a, b) = link
                b.qp.postReceive(1, b.mr.slice())
                b.qp.postReceive(2, b.mr.slice())
                link.message { send(1).inline(pattern(4)).signaled() }
                a.cq.takeOne()
                b.cq.takeOne()
                channel.awaitEvent(Duration.ofMillis(20)).shouldBeNull()
                b.cq.arm()
                link.message { send(2).inline(pattern(4)).signaled() }
                channel.awaitEvent(Duration.ofSeconds(10)) shouldBe b.cq
                b.cq.takeOne().workRequestId() shouldBe 2
                channel.awaitEvent(Duration.ofMillis(20)).shouldBeNull()
            }
        }

        case("should announce solicited messages only when armed for those", RAW_CONNECT) {
            val channel = context.completionChannel()
            val (a, b) = linked(b = end(cq = cq(channel = channel)))
            repeat(2) { b.qp.postReceive(it.toLong(), b.mr.slice()) }
            b.cq.armSolicited()
            a.post { send(1).inline(pattern(4)).signaled() }
            a.cq.takeOne()
            b.cq.takeOne()
            channel.awaitEvent(Duration.ofMillis(50)).shouldBeNull()
            a.post { send(2).inline(pattern(4)).signaled().solicited() }
            channel.awaitEvent(Duration.ofSeconds(10)) shouldBe b.cq
            b.cq.takeOne().workRequestId() shouldBe 1
        }

        case(
            "should announce completions together when told so, and the rest when their time is over",
            RAW_CONNECT,
            MODERATION,
        ) {
            val channel = context.completionChannel()
            val (a, b) = linked(a = end(cq = cq(channel = channel)))
            a.cq.moderate(3, Duration.ofMillis(60))
            a.cq.arm()
            writes(a, b, 3)
            channel.awaitEvent(Duration.ofSeconds(10)) shouldBe a.cq
            a.cq.take(3)
            a.cq.arm()
            writes(a, b, 1)
            channel.awaitEvent(Duration.ofSeconds(10)) shouldBe a.cq
            a.cq.takeOne()
            a.cq.ackEvents() shouldBe 2
        }

        case("should refuse a moderation beyond 16 bits before the device sees it") {
            shouldThrow<IllegalArgumentException> { cq().moderate(65_536, Duration.ofMillis(1)) }
            shouldThrow<IllegalArgumentException> { cq().moderate(-1, Duration.ofMillis(1)) }
            shouldThrow<IllegalArgumentException> { cq().moderate(1, Duration.ofMillis(66)) }
        }

        case("should acknowledge events in batches, and the rest when the queue is closed", RAW_CONNECT) {
            val channel = context.completionChannel()
            val cq = cq(channel = channel)
            val (a, b) = linked(a = end(cq = cq))

            fun event() {
                cq.arm()
                writes(a, b, 1)
                channel.awaitEvent(Duration.ofSeconds(10)) shouldBe cq
                cq.takeOne()
            }
            repeat(3) { event() }
            cq.ackEvents() shouldBe 3
            cq.ackEvents() shouldBe 0
            repeat(2) { event() }
            cq.close()
            a.qp.isOpen shouldBe false
        }

        case("should refuse to arm a queue without a channel") {
            shouldThrow<IllegalStateException> { cq().arm() }.message shouldContain "without a completion channel"
        }
    })
