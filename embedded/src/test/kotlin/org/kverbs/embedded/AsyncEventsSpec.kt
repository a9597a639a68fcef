package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.Context
import org.kverbs.QueuePair
import org.kverbs.QueuePairInitAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.WorkCompletionStatus.RETRY_EXC_ERR
import org.kverbs.WorkCompletionStatus.WR_FLUSH_ERR
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.AsyncEventType.COMM_EST
import org.kverbs.attributes.AsyncEventType.CQ_ERR
import org.kverbs.attributes.AsyncEventType.DEVICE_FATAL
import org.kverbs.attributes.AsyncEventType.LID_CHANGE
import org.kverbs.attributes.AsyncEventType.PATH_MIG_ERR
import org.kverbs.attributes.AsyncEventType.QP_FATAL
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState.ERR
import org.kverbs.attributes.QueuePairState.RTR
import org.kverbs.attributes.QueuePairState.RTS
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UC
import java.time.Duration

/** Returns the RTR attributes for a peer on the device that another queue pair of the same type is connected to. */
private fun readyToReceive(
    from: QueuePair,
    like: QueuePair,
): QueuePairAttributes {
    val known = like.query()
    val attributes =
        QueuePairAttributes
            .builder()
            .state(RTR)
            .address(known.address())
            .pathMtu(known.pathMtu())
            .destQpn(from.number())
            .rqPsn(from.psn())
    return if (from.type() == RC) attributes.maxDestReadAtomic(1).minRnrTimer(12).build() else attributes.build()
}

/** Checks asynchronous events that hardware raises seldom: raised by their cause, and by a test. */
class AsyncEventsSpec :
    FunSpec({
        fun Context.event() = awaitAsyncEvent(Duration.ZERO)

        listOf(RC, UC).forEach { type ->
            test("should raise COMM_EST once when a message comes before the $type queue pair may send") {
                Pair(EmbeddedFabric.virtual(1), type).use { (a, b) ->
                    val qp = b.pd.queuePair(QueuePairInitAttributes.of(type, b.cq))
                    val peer = a.pd.queuePair(QueuePairInitAttributes.of(type, a.cq))
                    qp.init(ConnectOptions.DEFAULTS)
                    qp.postReceive(1, b.mr.slice(0, 8))
                    qp.postReceive(2, b.mr.slice(8, 8))
                    qp.modify(readyToReceive(from = peer, like = b.qp))
                    qp.state() shouldBe RTR
                    peer.connect(qp.endpoint())
                    b.context.event() shouldBe null
                    repeat(2) { i -> peer.postWith { it.send(i.toLong()).from(a.mr.slice(0, 8)) } }
                    b.take(2)
                    b.context.event().let { it?.type() to it?.source() } shouldBe (COMM_EST to qp)
                    b.context.event() shouldBe null
                }
            }
        }

        test("should raise no COMM_EST on a queue pair that may send") {
            Pair(EmbeddedFabric.virtual(1)).use { (a, b) ->
                b.qp.postReceive(1, b.mr.slice(0, 8))
                a.post { send(1).inline(byteArrayOf(1)) }
                b.take(1)
                b.context.event() shouldBe null
            }
        }

        test("should break a queue pair if a test raises QP_FATAL") {
            Pair(EmbeddedFabric.virtual(1)).use { pair ->
                val (a, b) = pair
                a.qp.postReceive(1, a.mr.slice(0, 8))
                pair.fabric.raise(a.qp, QP_FATAL)
                a.context.event().let { it?.type() to it?.source() } shouldBe (QP_FATAL to a.qp)
                a.qp.state() shouldBe ERR
                a.take(1).single().status() shouldBe WR_FLUSH_ERR
                b.qp.state() shouldBe RTS
                a.qp.close()
                shouldThrow<IllegalArgumentException> { pair.fabric.raise(a.qp, QP_FATAL) }.message shouldContain
                    "is closed"
            }
        }

        test("should raise events that change no state") {
            Pair(EmbeddedFabric.virtual(1)).use { pair ->
                pair.fabric.raise(pair.a.qp, PATH_MIG_ERR)
                pair.fabric.raise(pair.client, LID_CHANGE)
                List(2) { pair.a.context.event()?.type() } shouldBe listOf(PATH_MIG_ERR, LID_CHANGE)
                pair.a.qp.state() shouldBe RTS
            }
        }

        test("should end a device with DEVICE_FATAL: flushed here, silent there, and refusing all but its end") {
            Pair(EmbeddedFabric.virtual(1)).use { pair ->
                val (a, b) = pair
                val other = pair.client.open()
                a.qp.postReceive(1, a.mr.slice(0, 8))
                pair.fabric.raise(pair.client, DEVICE_FATAL)
                listOf(a.context, other).map { it.event()?.type() } shouldBe listOf(DEVICE_FATAL, DEVICE_FATAL)
                a.take(1).single().status() shouldBe WR_FLUSH_ERR
                a.post { send(2).inline(byteArrayOf(1)) }
                a.take(1).single().status() shouldBe WR_FLUSH_ERR
                val refusal = shouldThrow<RdmaSystemException> { a.context.completionQueue(4) }
                refusal.errnoName() shouldBe "EIO"
                refusal.advice() shouldBe "embedded0 broke with DEVICE_FATAL: close it."
                shouldThrow<RdmaSystemException> { pair.client.open() }.errnoName() shouldBe "EIO"
                b.post { send(1).inline(byteArrayOf(1)) }
                b.take(1).single().status() shouldBe RETRY_EXC_ERR
                other.close()
            }
        }

        test("should refuse events that the source cannot have") {
            Pair(EmbeddedFabric.virtual(1)).use { pair ->
                fun refused(raise: () -> Unit) = shouldThrow<IllegalArgumentException> { raise() }.message
                refused { pair.fabric.raise(pair.client, CQ_ERR) } shouldContain "CQ_ERR is not an event of a device"
                refused { pair.fabric.raise(pair.a.qp, DEVICE_FATAL) } shouldContain
                    "DEVICE_FATAL is not an event of a queue pair"
                refused { pair.fabric.raise(pair.a.qp, AsyncEventType.UNKNOWN) } shouldContain "UNKNOWN is not an event"
            }
        }
    })
