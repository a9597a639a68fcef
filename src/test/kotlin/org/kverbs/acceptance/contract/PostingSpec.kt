package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.ints.shouldBeGreaterThanOrEqual
import io.kotest.matchers.ints.shouldBeLessThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.QueuePairInitAttributes
import org.kverbs.ReceiveRequests
import org.kverbs.SendRequests
import org.kverbs.WorkCompletionOpcode.RDMA_READ
import org.kverbs.WorkCompletionOpcode.RDMA_WRITE
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionOpcode.SEND
import org.kverbs.WorkRequestException
import org.kverbs.acceptance.contract.Capability.DATAGRAM
import org.kverbs.acceptance.contract.Capability.RAW_CONNECT
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairType

/** Checks lists of work requests, and lists that a device refuses. */
internal class PostingSpec :
    ContractSpec({
        case("should post a list of different requests in one call and complete them in order", RAW_CONNECT) {
            val (a, b) = linked()
            val size = 50
            a.mr.put(pattern(size, seed = 1))
            b.mr.put(pattern(size, seed = 2), 100)
            b.qp.postReceive(
                ReceiveRequests()
                    .receive(7)
                    .into(b.mr.slice(1000, 100))
                    .receive(8)
                    .into(b.mr.slice(2000, 100)),
            )
            val requests =
                SendRequests()
                    .send(1)
                    .from(a.mr.slice(0, 50))
                    .signaled()
                    .write(2, b.mr.remote().at(500))
                    .from(a.mr.slice(0, 50))
                    .signaled()
                    .read(3, b.mr.remote().at(100))
                    .into(a.mr.slice(300, 50))
                    .signaled()
                    .sendWithImmediate(4, 44)
                    .inline(pattern(10, seed = 3))
                    .signaled()
            requests.size() shouldBe 4
            a.qp.post(requests)
            a.cq.take(4).map { it.workRequestId() to it.opcode() } shouldBe
                listOf(1L to SEND, 2L to RDMA_WRITE, 3L to RDMA_READ, 4L to SEND)
            val (first, second) = b.cq.take(2)
            first.shouldBeDone(7, RECV, b.qp, bytes = 50)
            second.shouldBeDone(8, RECV, b.qp, bytes = 10, immediate = 44)
            b.mr.bytes(size, 1000) shouldBe pattern(size, seed = 1)
            b.mr.bytes(size, 500) shouldBe pattern(size, seed = 1)
            b.mr.bytes(10, 2000) shouldBe pattern(10, seed = 3)
            a.mr.bytes(size, 300) shouldBe pattern(size, seed = 2)
        }

        case("should post a message, a write and a read without a list, and end each with a completion", RAW_CONNECT) {
            val (a, b) = linked()
            a.mr.put(pattern(64, seed = 1))
            b.mr.put(pattern(64, seed = 2), 100)
            b.qp.postReceive(7, b.mr.slice(1000, 100))
            a.qp.postSend(1, a.mr.slice(0, 64))
            a.qp.postWrite(2, a.mr.slice(0, 64), b.mr.remote().at(500))
            a.qp.postRead(3, a.mr.slice(300, 64), b.mr.remote().at(100))
            a.cq.take(3).map { it.workRequestId() to it.opcode() } shouldBe
                listOf(1L to SEND, 2L to RDMA_WRITE, 3L to RDMA_READ)
            b.cq.takeOne().shouldBeDone(7, RECV, b.qp, bytes = 64)
            b.mr.bytes(64, 1000) shouldBe pattern(64, seed = 1)
            b.mr.bytes(64, 500) shouldBe pattern(64, seed = 1)
            a.mr.bytes(64, 300) shouldBe pattern(64, seed = 2)
        }

        case("should refuse a message without an address that is posted without a list on UD", DATAGRAM) {
            val qp = pd.queuePair(QueuePairInitAttributes.of(QueuePairType.UD, cq()))
            val refusal = shouldThrow<WorkRequestException> { qp.postSend(1, memory().slice(0, 8)) }
            refusal.errnoName() shouldBe "EINVAL"
            refusal.message shouldContain "A request of a UD queue pair needs an address"
            qp.close()
            shouldThrow<IllegalStateException> { qp.postSend(1, memory().slice(0, 8)) }
        }

        case("should refuse a write and a read that are longer than the remote memory", RAW_CONNECT) {
            val (a, b) = linked()
            val remote = b.mr.remote().slice(0, 8)
            shouldThrow<IndexOutOfBoundsException> { a.qp.postWrite(1, a.mr.slice(0, 9), remote) }
            shouldThrow<IndexOutOfBoundsException> { a.qp.postRead(1, a.mr.slice(0, 9), remote) }
            a.cq.shouldStayEmpty()
        }

        case("should refuse a request that is posted without a list when the queue pair is closed", RAW_CONNECT) {
            val (a, b) = linked()
            a.qp.close()
            shouldThrow<IllegalStateException> { a.qp.postWrite(1, a.mr.slice(0, 8), b.mr.remote()) }
        }

        case("should post 60 sends and 60 receives in one call each", RAW_CONNECT) {
            val (a, b) = linked()
            val receives =
                ReceiveRequests().apply {
                    repeat(
                        60,
                    ) { receive(it.toLong()).into(b.mr.slice(it * 100L, 100)) }
                }
            b.qp.postReceive(receives)
            a.post { repeat(60) { send(100L + it).inline(pattern(20, seed = it)).signaled() } }
            a.cq.take(60).map { it.workRequestId() } shouldBe (100L..159L).toList()
            b.cq.take(60).map { it.workRequestId() } shouldBe (0L..59L).toList()
            repeat(60) { b.mr.bytes(20, it * 100L) shouldBe pattern(20, seed = it) }
        }

        case("should complete every send of a queue pair that signals all", RAW_CONNECT) {
            val cq = cq()
            val qp = pd.queuePair(QueuePairInitAttributes(QueuePairType.RC, cq, cq, null, CAPABILITIES, true))
            val (a, b) = linked(a = End(qp, cq, memory()))
            a.post {
                write(1, b.mr.remote()).inline(pattern(4))
                write(2, b.mr.remote()).inline(pattern(4))
            }
            cq.take(2).forEachIndexed { i, done -> done.shouldBeDone(i + 1L, RDMA_WRITE, qp) }
        }

        case("should post nothing for an empty list", RAW_CONNECT) {
            val (a, b) = linked()
            a.qp.post(SendRequests())
            a.qp.tryPost(SendRequests()) shouldBe 0
            b.qp.postReceive(ReceiveRequests())
            a.cq.shouldStayEmpty()
        }

        case("should tell how much of a list fits into the send queue", RAW_CONNECT) {
            val few = QueuePairCapabilities(8, 8, 1, 1, 16)
            val (a, b) = linked(a = end(capabilities = few), b = end(capabilities = few))
            val list = SendRequests().apply { repeat(500) { send(it.toLong()).inline(pattern(8)).signaled() } }
            // The peer has posted no receive, so that no request completes and leaves the queue.
            val posted = a.qp.tryPost(list)
            posted shouldBeGreaterThanOrEqual a.qp.capabilities().maxSendWr()
            posted shouldBeLessThan 500
            a.qp.tryPost(list) shouldBe 0
            val refusal = shouldThrow<WorkRequestException> { a.post { send(1).inline(pattern(8)) } }
            refusal.errnoName() shouldBe "ENOMEM"
            refusal.index() shouldBe 0
            refusal.message shouldContain "The send queue is full"
            refusal.message shouldContain a.qp.describe()

            b.qp.postReceive(7, b.mr.slice())
            a.cq.takeOne().shouldBeDone(0, SEND, a.qp)
            a.qp.tryPost(list) shouldBe 1
        }

        case("should name the first request that finds the send queue full", RAW_CONNECT) {
            val few = QueuePairCapabilities(8, 8, 1, 1, 16)
            val (a, _) = linked(a = end(capabilities = few))
            val list = SendRequests().apply { repeat(500) { send(it.toLong()).inline(pattern(8)) } }
            val refusal = shouldThrow<WorkRequestException> { a.qp.post(list) }
            refusal.errnoName() shouldBe "ENOMEM"
            refusal.count() shouldBe 500
            refusal.index() shouldBeGreaterThanOrEqual a.qp.capabilities().maxSendWr()
            refusal.message shouldContain "work request at index ${refusal.index()} of 500"
        }

        case("should name the first request that finds the receive queue full", RAW_CONNECT) {
            val end = end(capabilities = QueuePairCapabilities(8, 8, 1, 1, 16))
            end.qp.init(ConnectOptions.DEFAULTS)
            val list = ReceiveRequests().apply { repeat(500) { receive(it.toLong()).into(end.mr.slice(0, 8)) } }
            val refusal = shouldThrow<WorkRequestException> { end.qp.postReceive(list) }
            refusal.errnoName() shouldBe "ENOMEM"
            refusal.index() shouldBeGreaterThanOrEqual end.qp.capabilities().maxRecvWr()
            refusal.message shouldContain "The receive queue is full"
            shouldThrow<WorkRequestException> { end.qp.postReceive(1, end.mr.slice()) }.index() shouldBe 0
        }

        case("should refuse more entries than the queue pair was made for, and post the requests before", RAW_CONNECT) {
            val (a, b) = linked()
            val most = a.qp.capabilities().maxSendSge()
            val refusal =
                shouldThrow<WorkRequestException> {
                    a.post {
                        write(1, b.mr.remote()).inline(pattern(8)).signaled()
                        write(2, b.mr.remote())
                        repeat(most + 1) { from(a.mr.slice(0, 1)) }
                        write(3, b.mr.remote()).inline(pattern(8)).signaled()
                    }
                }
            refusal.errnoName() shouldBe "EINVAL"
            refusal.index() shouldBe 1
            refusal.count() shouldBe 3
            refusal.message shouldContain "max_send_sge"
            a.cq.takeOne().shouldBeDone(1, RDMA_WRITE, a.qp)

            val receive =
                ReceiveRequests().receive(7).apply {
                    repeat(b.qp.capabilities().maxRecvSge() + 1) { into(b.mr.slice(0, 1)) }
                }
            val refused = shouldThrow<WorkRequestException> { b.qp.postReceive(receive) }
            refused.errnoName() shouldBe "EINVAL"
            refused.message shouldContain "max_recv_sge"
        }

        case("should refuse more inline bytes than the queue pair was made for", RAW_CONNECT) {
            val (a, b) = linked()
            val most = a.qp.capabilities().maxInlineData()
            a.post { write(1, b.mr.remote()).inline(pattern(most)).signaled() }
            a.cq.takeOne().shouldBeDone(1, RDMA_WRITE, a.qp)
            val refusal =
                shouldThrow<WorkRequestException> { a.post { write(2, b.mr.remote()).inline(pattern(most + 1)) } }
            refusal.errnoName() shouldBe "EINVAL"
            refusal.message shouldContain "max_inline_data"
        }

        case("should refuse an entry before any request was begun", RAW_CONNECT) {
            val end = end()
            shouldThrow<IllegalStateException> { SendRequests().from(end.mr.slice()) }.message shouldContain
                "no request was begun"
            shouldThrow<IllegalStateException> { ReceiveRequests().into(end.mr.slice()) }.message shouldContain
                "no request was begun"
        }
    })
