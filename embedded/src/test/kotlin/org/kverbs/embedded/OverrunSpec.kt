package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.QueuePairInitAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.WorkCompletionStatus.WR_FLUSH_ERR
import org.kverbs.WorkCompletions
import org.kverbs.attributes.AsyncEventType.CQ_ERR
import org.kverbs.attributes.AsyncEventType.QP_FATAL
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairState.ERR
import org.kverbs.attributes.QueuePairState.RTS
import org.kverbs.attributes.QueuePairType.RC
import java.time.Duration

/** Checks a completion queue of 4 that eight requests complete to. */
class OverrunSpec :
    FunSpec({
        fun End.write(
            to: End,
            count: Int,
        ) = post { repeat(count) { write(it.toLong(), to.mr.remote()).inline(byteArrayOf(1)).signaled() } }

        test("should break the completion queue and its queue pairs, and no other") {
            Pair(EmbeddedFabric.virtual(1), entries = 4).use { (a, b) ->
                val other = a.pd.queuePair(QueuePairInitAttributes.of(RC, a.context.completionQueue(4)))
                other.connect(b.qp.endpoint(), ConnectOptions.DEFAULTS)
                a.write(b, 8)
                val events = List(2) { a.context.awaitAsyncEvent(Duration.ZERO) }
                events.map { it?.type() to it?.source() } shouldBe listOf(CQ_ERR to a.cq, QP_FATAL to a.qp)
                a.context.awaitAsyncEvent(Duration.ZERO) shouldBe null
                a.qp.state() shouldBe ERR
                other.state() shouldBe RTS
                // The completions that had room are there; then polls report that the queue is broken.
                a.take(4).map { it.status() }.toSet() shouldBe setOf(SUCCESS)
                shouldThrow<RdmaSystemException> { a.cq.poll(WorkCompletions(4)) }.errnoName() shouldBe "EIO"
            }
        }

        test("should flush the requests on the other queue of a queue pair") {
            Pair(EmbeddedFabric.virtual(1), entries = 4).use { (a, b) ->
                val receiving = a.context.completionQueue(16)
                val mixed =
                    QueuePairInitAttributes(RC, a.cq, receiving, null, QueuePairCapabilities(16, 16, 1, 1, 16), false)
                val qp = a.pd.queuePair(mixed)
                qp.connect(b.qp.endpoint(), ConnectOptions.DEFAULTS)
                b.qp.modify(QueuePairAttributes.builder().state(QueuePairState.RESET).build())
                b.qp.connect(qp.endpoint(), ConnectOptions.DEFAULTS)
                qp.postReceive(7, a.mr.slice(0, 8))
                qp.postWith { repeat(8) { i -> it.write(i.toLong(), b.mr.remote()).inline(byteArrayOf(1)).signaled() } }
                val batch = WorkCompletions(16)
                receiving.poll(batch) shouldBe 1
                batch.get(0).status() shouldBe WR_FLUSH_ERR
                qp.state() shouldBe ERR
            }
        }

        test("should raise an event for each completion that is lost, and go on, by the semantics of rxe") {
            Pair(EmbeddedFabric.virtual(1), semantics = Semantics.RXE, entries = 4).use { (a, b) ->
                a.write(b, 6)
                List(2) { a.context.awaitAsyncEvent(Duration.ZERO) }.map { it?.type() } shouldBe listOf(CQ_ERR, CQ_ERR)
                a.context.awaitAsyncEvent(Duration.ZERO) shouldBe null
                a.qp.state() shouldBe RTS
                a.take(4).map { it.workRequestId() } shouldBe listOf(0L, 1L, 2L, 3L)
                a.write(b, 1)
                a.take(1)
            }
        }
    })
