package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.collections.shouldContainExactlyInAnyOrder
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.CompletionCounter
import org.kverbs.RdmaSystemException
import org.kverbs.RemoteMemory
import org.kverbs.acceptance.contract.Capability.COMPLETION_COUNTERS
import org.kverbs.attributes.CountedOperation
import org.kverbs.attributes.CountedOperation.RDMA_READ
import org.kverbs.attributes.CountedOperation.RDMA_WRITE
import org.kverbs.attributes.CountedOperation.RECEIVE
import org.kverbs.attributes.CountedOperation.REMOTE_RDMA_READ
import org.kverbs.attributes.CountedOperation.REMOTE_RDMA_WRITE
import org.kverbs.attributes.CountedOperation.SEND

/** Checks counters of completions: what they count, how they are set, and when they can be closed. */
internal class CompletionCounterSpec :
    ContractSpec({
        case("should count each operation on both sides, also without a completion", COMPLETION_COUNTERS) {
            val a = end()
            val b = end()
            val near = CountedOperation.entries.associateWith { counted(a, it) }
            val far = CountedOperation.entries.associateWith { counted(b, it) }
            linked(a = a, b = b)
            repeat(3) { b.qp.postReceive(it.toLong(), b.mr.slice(0, 64)) }
            a.post {
                repeat(3) { send(1).from(a.mr.slice(0, 10)) }
                repeat(2) { write(2, b.mr.remote()).from(a.mr.slice(0, 20)) }
                read(3, b.mr.remote().slice(0, 30)).into(a.mr.slice(100, 30)).signaled()
            }
            a.cq.takeOne().isSuccess shouldBe true
            b.cq.take(3)
            near.mapValues { it.value.read() } shouldBe counts(SEND to 3L, RDMA_WRITE to 2L, RDMA_READ to 1L)
            far.mapValues { it.value.read() } shouldBe
                counts(RECEIVE to 3L, REMOTE_RDMA_WRITE to 2L, REMOTE_RDMA_READ to 1L)
            (near.values + far.values).sumOf { it.readErrors() } shouldBe 0
        }

        case("should count bytes, of several queue pairs together", COMPLETION_COUNTERS) {
            val counter = context.byteCounter()
            val ends = List(2) { end() to end() }
            for ((a, b) in ends) {
                counter.attach(a.qp, RDMA_WRITE)
                linked(a = a, b = b)
                a.post { write(2, b.mr.remote()).from(a.mr.slice(0, 5000)).signaled() }
                a.cq.takeOne().isSuccess shouldBe true
            }
            counter.read() shouldBe 10_000
        }

        case("should count failures apart from successes", COMPLETION_COUNTERS) {
            val a = end()
            val counter = counted(a, RDMA_WRITE)
            val (_, b) = linked(a = a)
            a.post {
                write(1, b.mr.remote()).from(a.mr.slice(0, 10))
                write(2, RemoteMemory(b.mr.remote().address(), 10, b.mr.rkey() + 77))
                    .from(a.mr.slice(0, 10))
                    .signaled()
            }
            a.cq.takeOne().isSuccess shouldBe false
            counter.read() shouldBe 1
            counter.readErrors() shouldBe 1
        }

        case("should set and increment both values", COMPLETION_COUNTERS) {
            val counter = context.completionCounter()
            counter.set(10)
            counter.increment(5)
            counter.setErrors(-2)
            counter.incrementErrors(1)
            counter.read() shouldBe 15
            counter.readErrors() shouldBe -1
            context.queryCompletionCounters().operations() shouldContainExactlyInAnyOrder CountedOperation.entries
        }

        case("should refuse a second counter of an operation, and a queue pair beyond INIT", COMPLETION_COUNTERS) {
            val a = end()
            val counter = counted(a, SEND)
            shouldThrow<RdmaSystemException> { counter.attach(a.qp, RECEIVE, SEND) }.errnoName() shouldBe "EBUSY"
            shouldThrow<IllegalArgumentException> { counter.attach(a.qp) }
            counter.attach(a.qp, RECEIVE)
            linked(a = a)
            shouldThrow<RdmaSystemException> { counter.attach(a.qp, RDMA_READ) }.errnoName() shouldBe "EINVAL"
        }

        case("should stay open while it is attached, and close after its queue pairs", COMPLETION_COUNTERS) {
            val a = end()
            val counter = counted(a, SEND)
            val refusal = shouldThrow<RdmaSystemException> { counter.close() }
            refusal.errnoName() shouldBe "EBUSY"
            refusal.message shouldContain "Close the queue pairs"
            a.qp.close()
            counter.close()
            shouldThrow<IllegalStateException> { counter.read() }
        }
    })

private fun Bench.counted(
    end: End,
    operation: CountedOperation,
): CompletionCounter = context.completionCounter().also { it.attach(end.qp, operation) }

private fun counts(vararg known: Pair<CountedOperation, Long>): Map<CountedOperation, Long> =
    CountedOperation.entries.associateWith { 0L } + known
