package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import org.kverbs.WorkCompletionStatus
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import org.kverbs.embedded.internal.wire.Opcode
import org.kverbs.embedded.internal.wire.Opcode.RC_ACK
import org.kverbs.embedded.internal.wire.Opcode.RC_ATOMIC_ACK
import org.kverbs.embedded.internal.wire.Opcode.RC_FETCH_ADD
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_REQUEST
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_RESPONSE_ONLY
import org.kverbs.embedded.internal.wire.Opcode.RC_SEND_FIRST
import org.kverbs.embedded.internal.wire.Opcode.RC_SEND_LAST
import org.kverbs.embedded.internal.wire.Opcode.RC_SEND_ONLY
import org.kverbs.embedded.internal.wire.Opcode.RC_WRITE_ONLY
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.time.Duration

private const val XRC_ACK = Opcode.XRC or RC_ACK
private const val ACK = 0x1f
private const val NAK_INVALID_REQUEST = 0x61
private const val NAK_REMOTE_ACCESS = 0x62
private const val NAK_REMOTE_OPERATION = 0x63
private const val RNR_NAK = 0x21

/** Tests packets of XRC that a correct peer does not send, and what the program does to a queue meanwhile. */
class XrcHostilePeerSpec :
    FunSpec({
        test("should drop packets of RC to a receiving end of XRC, and of XRC to a queue pair of RC") {
            XrcPeerBench().use { bench ->
                bench.srq.postReceive(1, bench.mr.slice())
                val before = bench.errors
                listOf(RC_SEND_ONLY, RC_WRITE_ONLY, RC_READ_REQUEST, Opcode.UC or RC_SEND_ONLY, RC_ACK).forEach {
                    bench.arrive(it, 0) { opcode = it }.shouldBeEmpty()
                }
                bench.errors - before shouldBe 5
                bench.poll().shouldBeEmpty()
                bench.arrive(RC_SEND_ONLY, 0) { ackRequest = true } shouldBe listOf(Sent(XRC_ACK, 0, ACK, 0))
            }
            PeerBench().use { bench ->
                bench.qp.postReceive(1, bench.mr.slice())
                bench.arrive(Opcode.XRC or RC_SEND_ONLY, 0).shouldBeEmpty()
                bench.poll().shouldBeEmpty()
                bench.qp.state() shouldBe QueuePairState.RTS
            }
        }

        test("should drop answers to a receiving end, and requests to a sending end") {
            XrcPeerBench().use { bench ->
                val before = bench.errors
                bench.receiver.modify(
                    QueuePairAttributes.builder().state(QueuePairState.RTS).sqPsn(0).timeout(10).build(),
                )
                listOf(RC_ACK, RC_READ_RESPONSE_ONLY, RC_ATOMIC_ACK).forEach { bench.arrive(it, 0).shouldBeEmpty() }
                bench.errors - before shouldBe 3
            }
            PeerBench(QueuePairType.XRC_SEND).use { bench ->
                listOf(RC_SEND_ONLY, RC_WRITE_ONLY, RC_READ_REQUEST, RC_FETCH_ADD).forEach {
                    bench.arrive(Opcode.XRC or it, 0).shouldBeEmpty()
                }
                bench.qp.state() shouldBe QueuePairState.RTS
            }
        }

        test("should refuse a message whose packets name different queues, and complete the receive that it took") {
            XrcPeerBench().use { bench ->
                val other = bench.queue()
                bench.srq.postReceive(1, bench.mr.slice(0, 1024))
                other.postReceive(2, bench.mr.slice(1024, 1024))
                bench.arrive(RC_SEND_FIRST, 0) { payloadLength = 256 }
                bench.arrive(RC_SEND_LAST, 1) {
                    sharedQueue = other.number()
                    payloadLength = 10
                } shouldBe listOf(Sent(XRC_ACK, 1, NAK_INVALID_REQUEST, 0))
                bench.poll().map { it.workRequestId() to it.status() } shouldBe
                    listOf(1L to WorkCompletionStatus.REM_INV_REQ_ERR)
                bench.receiver.state() shouldBe QueuePairState.ERR
            }
        }

        test("should ask to repeat a message without a receive, and take it from the queue that the repetition names") {
            XrcPeerBench().use { bench ->
                val other = bench.queue()
                bench.arrive(RC_SEND_ONLY, 0) shouldBe listOf(Sent(XRC_ACK, 0, RNR_NAK, 0))
                other.postReceive(2, bench.mr.slice(0, 64))
                bench.arrive(RC_SEND_ONLY, 0) {
                    sharedQueue = other.number()
                    ackRequest = true
                } shouldBe listOf(Sent(XRC_ACK, 0, ACK, 0))
                bench.poll().single().workRequestId() shouldBe 2
            }
        }

        test("should check the queue of writes, reads and atomics, which take no receive") {
            listOf(RC_WRITE_ONLY, RC_READ_REQUEST, RC_FETCH_ADD).forEach { operation ->
                withClue("operation $operation") {
                    XrcPeerBench().use { bench ->
                        bench.arrive(operation, 0) { sharedQueue = bench.srq.number() xor 1 } shouldBe
                            listOf(Sent(XRC_ACK, 0, NAK_INVALID_REQUEST, 0))
                    }
                    XrcPeerBench().use { bench ->
                        val foreign = bench.region(bench.context.protectionDomain())
                        bench.arrive(operation, 0) {
                            rkey = foreign.rkey()
                            remoteAddress = foreign.address()
                            if (operation != RC_FETCH_ADD) dmaLength = 8
                            if (operation == RC_WRITE_ONLY) payloadLength = 8
                        } shouldBe listOf(Sent(XRC_ACK, 0, NAK_REMOTE_ACCESS, 0))
                    }
                }
            }
        }

        test("should repeat the answer to a read or an atomic, and refuse a repeated read that names no queue") {
            XrcPeerBench().use { bench ->
                repeat(2) { bench.arrive(RC_FETCH_ADD, 0) { swapOrAdd = 4 }.single().opcode shouldBe 0xb2 }
                bench.mr.memory().get(JAVA_LONG, 0) shouldBe 4
                repeat(2) { bench.arrive(RC_READ_REQUEST, 1) { dmaLength = 8 }.single().opcode shouldBe 0xb0 }
                bench
                    .arrive(RC_READ_REQUEST, 1) {
                        dmaLength = 8
                        sharedQueue = bench.srq.number() xor 1
                    } shouldBe listOf(Sent(XRC_ACK, 1, NAK_INVALID_REQUEST, 0))
                bench.receiver.state() shouldBe QueuePairState.RTR
            }
        }

        test("should answer a repeated send, write or atomic again after the queue that it names was destroyed") {
            XrcPeerBench().use { bench ->
                val number = bench.srq.number()
                bench.srq.postReceive(1, bench.mr.slice(0, 64))
                bench.arrive(RC_SEND_ONLY, 0)
                bench.arrive(RC_WRITE_ONLY, 1)
                bench.arrive(RC_FETCH_ADD, 2) { swapOrAdd = 4 }
                bench.srq.close()
                val sends = listOf(RC_SEND_ONLY, RC_WRITE_ONLY)
                sends.forEachIndexed { psn, operation ->
                    bench.arrive(operation, psn) {
                        sharedQueue = number
                        ackRequest = true
                    } shouldBe listOf(Sent(XRC_ACK, 2, ACK, 0))
                }
                bench.arrive(RC_FETCH_ADD, 2) { sharedQueue = number }.single().opcode shouldBe 0xb2
                bench.mr.memory().get(JAVA_LONG, 0) shouldBe 4
                bench.poll().single().isSuccess shouldBe true
                bench.receiver.state() shouldBe QueuePairState.RTR
            }
        }

        test("should complete nothing in a queue that is destroyed in the middle of a message") {
            XrcPeerBench().use { bench ->
                val number = bench.srq.number()
                bench.srq.postReceive(1, bench.mr.slice(0, 1024))
                bench.arrive(RC_SEND_FIRST, 0) { payloadLength = 256 }
                bench.srq.close()
                bench.arrive(RC_SEND_LAST, 1) { sharedQueue = number } shouldBe
                    listOf(Sent(XRC_ACK, 1, NAK_INVALID_REQUEST, 0))
                bench.poll().shouldBeEmpty()
            }
        }

        test("should not read the memory of a queue's domain any more when the queue is destroyed during the answer") {
            XrcPeerBench().use { bench ->
                val long = bench.arrive(RC_READ_REQUEST, 0) { dmaLength = 1 shl 16 }
                long.size shouldBe 16
                bench.srq.close()
                bench.pass(Duration.ofSeconds(1).toNanos()) shouldBe listOf(Sent(XRC_ACK, 16, NAK_REMOTE_ACCESS, 0))
                bench.receiver.state() shouldBe QueuePairState.ERR
            }
        }

        test("should break a queue whose completion queue overran, and tell its program and its peers") {
            XrcPeerBench().use { bench ->
                val small = bench.context.completionQueue(1)
                val queue = bench.queue(cq = small)
                repeat(3) { queue.postReceive(it.toLong(), bench.mr.slice(0, 64)) }
                repeat(2) { psn -> bench.arrive(RC_SEND_ONLY, psn) { sharedQueue = queue.number() } }
                bench.arrive(RC_SEND_ONLY, 2) { sharedQueue = queue.number() } shouldBe
                    listOf(Sent(XRC_ACK, 2, NAK_REMOTE_OPERATION, 0))
                val events = generateSequence { bench.context.awaitAsyncEvent(Duration.ZERO) }.toList()
                events.map { it.type() to it.source() } shouldBe
                    listOf(
                        AsyncEventType.COMM_EST to bench.receiver,
                        AsyncEventType.CQ_ERR to small,
                        AsyncEventType.SRQ_ERR to queue,
                        AsyncEventType.QP_REQ_ERR to bench.receiver,
                        AsyncEventType.QP_LAST_WQE_REACHED to bench.receiver,
                    )
            }
        }

        test("should flush the receive of an unfinished message to the queue that it came from") {
            XrcPeerBench().use { bench ->
                val cq = bench.context.completionQueue(4)
                val queue = bench.queue(cq = cq)
                queue.postReceive(5, bench.mr.slice(0, 1024))
                bench.arrive(RC_SEND_FIRST, 0) {
                    sharedQueue = queue.number()
                    payloadLength = 256
                }
                bench.receiver.modify(QueuePairAttributes.builder().state(QueuePairState.ERR).build())
                bench.poll(cq).single().let {
                    it.workRequestId() shouldBe 5
                    it.status() shouldBe WorkCompletionStatus.WR_FLUSH_ERR
                    it.queuePairNumber() shouldBe bench.receiver.number()
                }
            }
        }
    })
