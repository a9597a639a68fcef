package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.QueuePair
import org.kverbs.QueuePairInitAttributes
import org.kverbs.ReceiveRequests
import org.kverbs.SendRequests
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.WorkCompletionStatus.WR_FLUSH_ERR
import org.kverbs.WorkRequestException
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairState.ERR
import org.kverbs.attributes.QueuePairState.RESET
import org.kverbs.attributes.QueuePairState.RTS
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UC
import org.kverbs.attributes.QueuePairType.UD
import org.kverbs.attributes.SharedReceiveQueueAttributes
import org.kverbs.embedded.Semantics.RXE
import org.kverbs.embedded.Semantics.STRICT

private fun QueuePair.to(state: QueuePairState) = modify(QueuePairAttributes.builder().state(state).build())

private val EIGHT = QueuePairCapabilities(8, 8, 1, 1, 16)

/**
 * Checks when the slot of a work request is free: after its completion is polled, as with a card, or earlier, as with
 * Soft-RoCE.
 */
class SlotsSpec :
    FunSpec({
        fun pair(semantics: Semantics) = Pair(EmbeddedFabric.virtual(1), semantics = semantics, capabilities = EIGHT)

        /** Returns how many of a hundred requests are accepted. */
        fun End.taken(requests: SendRequests.(Long) -> Unit): Int =
            qp.tryPost(SendRequests().apply { repeat(100) { requests(it.toLong()) } })

        fun receives(of: End) = ReceiveRequests().apply { repeat(100) { receive(it.toLong()).into(of.mr.slice(0, 8)) } }

        test("should refuse more unsignaled writes than a send queue has slots, though all of them are done") {
            pair(STRICT).use { (a, b) ->
                a.taken { write(it, b.mr.remote()).from(a.mr.slice(0, 8)) } shouldBe 8
                val refusal =
                    shouldThrow<WorkRequestException> { a.post { write(9, b.mr.remote()).from(a.mr.slice(0, 8)) } }
                refusal.errnoName() shouldBe "ENOMEM"
                refusal.message shouldContain
                    "an unsignaled request keeps its place until a later signaled one is polled"
            }
        }

        test("should take unsignaled writes without end by the semantics of rxe") {
            pair(RXE).use { (a, b) -> repeat(1000) { a.post { write(1, b.mr.remote()).from(a.mr.slice(0, 8)) } } }
        }

        test("should free the slots of unsignaled requests by the poll of a later signaled one, and not before") {
            pair(STRICT).use { (a, b) ->
                repeat(50) {
                    a.post {
                        repeat(5) { write(it.toLong(), b.mr.remote()).from(a.mr.slice(0, 8)) }
                        write(5, b.mr.remote()).from(a.mr.slice(0, 8)).signaled()
                        write(6, b.mr.remote()).from(a.mr.slice(0, 8))
                    }
                    a.taken { write(it, b.mr.remote()).from(a.mr.slice(0, 8)) } shouldBe 1
                    a.take(1).single().workRequestId() shouldBe 5
                    // The seventh and the eighth stay.
                    a.post { write(7, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() }
                    a.take(1)
                }
                a.taken { write(it, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() } shouldBe 8
                a.taken { write(it, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() } shouldBe 0
                a.poll(3).size shouldBe 3
                a.taken { write(it, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() } shouldBe 3
            }
        }

        test("should free the slots of receives by polling") {
            pair(STRICT).use { (a, b) ->
                shouldThrow<WorkRequestException> { b.qp.postReceive(receives(b)) }.index() shouldBe 8
                a.post { repeat(8) { send(it.toLong()).inline(byteArrayOf(1)).signaled() } }
                a.take(8)
                shouldThrow<WorkRequestException> { b.qp.postReceive(receives(b)) }.index() shouldBe 0
                b.poll(3).size shouldBe 3
                shouldThrow<WorkRequestException> { b.qp.postReceive(receives(b)) }.index() shouldBe 3
            }
        }

        test("should free the slots of receives when they are done by the semantics of rxe") {
            pair(RXE).use { (a, b) ->
                repeat(3) {
                    shouldThrow<WorkRequestException> { b.qp.postReceive(receives(b)) }.index() shouldBe 8
                    a.post { repeat(8) { send(it.toLong()).inline(byteArrayOf(1)).signaled() } }
                    a.take(8)
                }
            }
        }

        test("should free the slots of a shared receive queue by polling, whatever queue pair took them") {
            pair(STRICT).use { pair ->
                val (a, b) = pair
                val srq = b.pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(8, 1))
                val served = b.pd.queuePair(QueuePairInitAttributes(RC, b.cq, b.cq, srq, EIGHT, false))
                a.qp.to(RESET)
                a.qp.connect(served.endpoint(ConnectOptions.DEFAULTS), ConnectOptions.DEFAULTS)
                served.connect(a.qp.endpoint(ConnectOptions.DEFAULTS), ConnectOptions.DEFAULTS)
                shouldThrow<WorkRequestException> { srq.postReceive(receives(b)) }.index() shouldBe 8
                a.post { repeat(6) { send(it.toLong()).inline(byteArrayOf(1)).signaled() } }
                a.take(6)
                shouldThrow<WorkRequestException> { srq.postReceive(receives(b)) }.index() shouldBe 0
                b.poll(2).size shouldBe 2
                shouldThrow<WorkRequestException> { srq.postReceive(receives(b)) }.index() shouldBe 2
                // The slots of unpolled requests of a closed queue pair are free again.
                served.close()
                shouldThrow<WorkRequestException> { srq.postReceive(receives(b)) }.index() shouldBe 4
            }
        }

        listOf(RC, UC).forEach { type ->
            test("should keep the slots of flushed requests until they are polled, on $type") {
                Pair(EmbeddedFabric.virtual(1), type, capabilities = EIGHT).use { (a, b) ->
                    b.qp.postReceive(
                        ReceiveRequests().apply { repeat(8) { receive(it.toLong()).into(b.mr.slice(0, 8)) } },
                    )
                    b.qp.to(ERR)
                    shouldThrow<WorkRequestException> { b.qp.postReceive(receives(b)) }.index() shouldBe 0
                    b.poll(5).map { it.status() }.toSet() shouldBe setOf(WR_FLUSH_ERR)
                    shouldThrow<WorkRequestException> { b.qp.postReceive(receives(b)) }.index() shouldBe 5
                    a.qp.to(ERR)
                    a.taken { send(it).inline(byteArrayOf(1)) } shouldBe 8
                    a.take(8).map { it.status() }.toSet() shouldBe setOf(WR_FLUSH_ERR)
                    a.taken { send(it).inline(byteArrayOf(1)) } shouldBe 8
                }
            }
        }

        test("should have all slots again after a reset, polled or not") {
            pair(STRICT).use { (a, b) ->
                a.taken { write(it, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() } shouldBe 8
                a.qp.to(RESET)
                a.qp.connect(b.qp.endpoint(ConnectOptions.DEFAULTS), ConnectOptions.DEFAULTS)
                a.qp.state() shouldBe RTS
                a.taken { write(it, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() } shouldBe 8
            }
        }

        test("should keep the slots of the completions that a resized queue holds") {
            pair(STRICT).use { (a, b) ->
                a.taken { write(it, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() } shouldBe 8
                a.cq.resize(2000)
                a.taken { write(it, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() } shouldBe 0
                a.take(8).map { it.status() }.toSet() shouldBe setOf(SUCCESS)
                a.taken { write(it, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() } shouldBe 8
            }
        }

        test("should refuse more datagrams than a send queue has slots until their completions are polled") {
            EmbeddedFabric.virtual(1).use { fabric ->
                End(fabric.addDevice(), UD, 4096, EIGHT).use { a ->
                    a.qp.activate(ConnectOptions.DEFAULTS)
                    val to = a.qp.addressHandle(a.qp.endpoint(), ConnectOptions.DEFAULTS)
                    a.taken { send(it).inline(byteArrayOf(1)).to(to, a.qp.number(), 1).signaled() } shouldBe 8
                    a.poll(3).size shouldBe 3
                    a.taken { send(it).inline(byteArrayOf(1)).to(to, a.qp.number(), 1).signaled() } shouldBe 3
                }
            }
        }

        test("should keep the order and the bytes of sends when more are under way than ever before") {
            pair(STRICT).use { (a, b) ->
                fun sends(ids: LongRange) =
                    a.post { ids.forEach { send(it).inline(ByteArray(it.toInt()) { 7 }).signaled() } }

                fun receives(ids: LongRange) = ids.forEach { b.qp.postReceive(it, b.mr.slice(16 * it, 16)) }
                sends(1L..3L) // they find no receive, and wait
                receives(1L..2L)
                a.take(2).map { it.workRequestId() } shouldBe listOf(1L, 2L)
                b.take(2).map { it.byteLength() } shouldBe listOf(1L, 2L)
                sends(4L..10L)
                a.taken { send(it).signaled() } shouldBe 0
                receives(3L..10L)
                a.take(8).map { it.workRequestId() } shouldBe (3L..10L).toList()
                b.take(8).map { it.byteLength() } shouldBe (3L..10L).toList()
                b.bytes(16 * 10, 16) shouldBe ByteArray(10) { 7 } + ByteArray(6)
            }
        }
    })
