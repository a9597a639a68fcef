package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.ints.shouldBeGreaterThanOrEqual
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.RdmaSystemException
import org.kverbs.ReceiveRequests
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkRequestException
import org.kverbs.acceptance.contract.Capability.QUERY_SRQ
import org.kverbs.acceptance.contract.Capability.RAW_CONNECT
import org.kverbs.acceptance.contract.Capability.RESIZE_SRQ
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.SharedReceiveQueueAttributes
import java.time.Duration

/** Checks receives that several queue pairs share. */
internal class SharedReceiveQueueSpec :
    ContractSpec({
        case("should make a shared receive queue of the requested size and report it") {
            val srq = pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(10, 1))
            srq.attributes().maxWr() shouldBeGreaterThanOrEqual 10
            srq.attributes().maxSge() shouldBeGreaterThanOrEqual 1
            srq.limit(4)
        }

        case("should answer a query for a shared receive queue's sizes and limit", QUERY_SRQ) {
            val srq = pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(10, 1))
            srq.query().maxWr() shouldBeGreaterThanOrEqual 10
            srq.query().maxSge() shouldBeGreaterThanOrEqual 1
            srq.query().limit() shouldBe 0
            srq.limit(4)
            srq.query().limit() shouldBe 4
        }

        case("should take the receives of two queue pairs from one queue, in order", RAW_CONNECT) {
            val srq = pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(16, 2))
            val cq = cq()
            val memory = memory()
            val (a1, b1) = linked(b = end(cq = cq, srq = srq))
            val (a2, b2) = linked(b = end(cq = cq, srq = srq))
            srq.postReceive(1, memory.slice(100, 50))
            srq.postReceive(ReceiveRequests().receive(2).into(memory.slice(200, 10)).into(memory.slice(300, 50)))
            a1.post { send(11).inline(pattern(40, seed = 1)).signaled() }
            a1.cq.takeOne()
            a2.post { sendWithImmediate(12, 9).inline(pattern(40, seed = 2)).signaled() }
            a2.cq.takeOne()
            val (first, second) = cq.take(2)
            first.shouldBeDone(1, RECV, b1.qp, bytes = 40)
            second.shouldBeDone(2, RECV, b2.qp, bytes = 40, immediate = 9)
            memory.bytes(40, 100) shouldBe pattern(40, seed = 1)
            memory.bytes(10, 200) + memory.bytes(30, 300) shouldBe pattern(40, seed = 2)
        }

        case("should raise an event once when fewer receives are left than the limit", RAW_CONNECT) {
            val srq = pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(16, 1))
            val (a, b) = linked(b = end(srq = srq))
            repeat(4) { srq.postReceive(it.toLong(), b.mr.slice()) }
            srq.limit(3)
            context.awaitAsyncEvent(Duration.ZERO) shouldBe null
            a.post { repeat(3) { send(it.toLong()).inline(pattern(4)).signaled() } }
            a.cq.take(3)
            val event = context.awaitAsyncEvent(Duration.ofSeconds(10)).shouldNotBeNull()
            event.type() shouldBe AsyncEventType.SRQ_LIMIT_REACHED
            event.source() shouldBe srq
            event.toString() shouldBe "SRQ_LIMIT_REACHED on ${srq.describe()}"
            context.awaitAsyncEvent(Duration.ofMillis(50)) shouldBe null
            srq.query().limit() shouldBe 0
        }

        case(
            "should refuse a receive beyond the size of a shared receive queue, and take more after it was resized",
            RESIZE_SRQ,
        ) {
            val srq = pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(4, 1))
            val memory = memory()
            val refusal =
                shouldThrow<WorkRequestException> {
                    srq.postReceive(
                        ReceiveRequests().apply { repeat(100) { receive(it.toLong()).into(memory.slice(0, 8)) } },
                    )
                }
            refusal.errnoName() shouldBe "ENOMEM"
            refusal.index() shouldBeGreaterThanOrEqual 4
            refusal.message shouldContain "The shared receive queue is full"
            srq.resize(64)
            srq.query().maxWr() shouldBeGreaterThanOrEqual 64
            srq.postReceive(1, memory.slice(0, 8))
        }

        case("should refuse a limit above the size, and sizes above the device's") {
            val srq = pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(4, 1))
            val most = context.queryDevice()
            val tooHigh = shouldThrow<RdmaSystemException> { srq.limit(most.maxSrqWr() + 1) }
            tooHigh.errnoName() shouldBe "EINVAL"
            tooHigh.message shouldContain "limit is not above max_wr"
            val tooLong =
                shouldThrow<RdmaSystemException> {
                    pd.sharedReceiveQueue(
                        SharedReceiveQueueAttributes.of(most.maxSrqWr() + 1, 1),
                    )
                }
            tooLong.errnoName() shouldBe "EINVAL"
            tooLong.advice() shouldBe
                "max_wr ${most.maxSrqWr() + 1} is above the device's max_srq_wr of ${most.maxSrqWr()}."
            val entries = most.maxSrqSge()
            shouldThrow<RdmaSystemException> {
                pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(1, entries + 1))
            }.advice() shouldBe "max_sge ${entries + 1} is above the device's max_srq_sge of $entries."
        }

        case("should refuse a receive on a queue pair whose receives are shared") {
            val srq = pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(4, 1))
            val end = end(srq = srq)
            shouldThrow<WorkRequestException> { end.qp.postReceive(1, end.mr.slice()) }.errnoName() shouldBe "EINVAL"
        }
    })
