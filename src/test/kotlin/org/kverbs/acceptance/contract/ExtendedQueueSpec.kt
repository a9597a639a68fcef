package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.ints.shouldBeGreaterThanOrEqual
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.CompletionQueueAttributes
import org.kverbs.MemoryWindow
import org.kverbs.RdmaSystemException
import org.kverbs.SendRequests
import org.kverbs.WorkCompletionOpcode.BIND_MW
import org.kverbs.WorkCompletionOpcode.COMP_SWAP
import org.kverbs.WorkCompletionOpcode.FETCH_ADD
import org.kverbs.WorkCompletionOpcode.LOCAL_INV
import org.kverbs.WorkCompletionOpcode.RDMA_READ
import org.kverbs.WorkCompletionOpcode.RDMA_WRITE
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionOpcode.RECV_RDMA_WITH_IMM
import org.kverbs.WorkCompletionOpcode.SEND
import org.kverbs.WorkCompletionStatus.LOC_QP_OP_ERR
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.WR_FLUSH_ERR
import org.kverbs.WorkRequestException
import org.kverbs.acceptance.contract.Capability.ATOMICS
import org.kverbs.acceptance.contract.Capability.EXTENDED_GATHERING
import org.kverbs.acceptance.contract.Capability.EXTENDED_QUEUES
import org.kverbs.acceptance.contract.Capability.EXTENDED_UC_WINDOWS
import org.kverbs.acceptance.contract.Capability.MEMORY_WINDOWS
import org.kverbs.acceptance.contract.Capability.REPORTS_INVALIDATED_KEY
import org.kverbs.attributes.AccessFlag.REMOTE_WRITE
import org.kverbs.attributes.AccessFlag.mask
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.MemoryWindowType.TYPE_2
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UC
import org.kverbs.attributes.QueuePairType.UD
import java.time.Duration

/**
 * Checks queue pairs and completion queues that are made, posted to and polled by the extended calls, and used like any
 * other.
 */
internal class ExtendedQueueSpec :
    ContractSpec({
        for (type in listOf(RC, UC, UD)) {
            fun Bench.pair() = linked(type, a = extendedEnd(type), b = extendedEnd(type))

            case("should make an extended queue pair of type $type and bring it to RTS", EXTENDED_QUEUES) {
                val qp = extendedEnd(type, QueuePairCapabilities(10, 12, 2, 1, 16)).qp
                qp.isExtended shouldBe true
                qp.capabilities().maxSendWr() shouldBeGreaterThanOrEqual 10
                qp.state() shouldBe QueuePairState.RESET
                qp.query().cap().maxRecvWr() shouldBeGreaterThanOrEqual 12
                qp.init(ConnectOptions.DEFAULTS)
                qp.state() shouldBe QueuePairState.INIT
                if (type == UD) qp.activate(ConnectOptions.DEFAULTS) else qp.connect(queuePair(type).endpoint())
                qp.state() shouldBe QueuePairState.RTS
            }

            case("should send with and without immediate, and no bytes, by extended calls on $type", EXTENDED_QUEUES) {
                val link = pair()
                val (a, b) = link
                a.mr.put(pattern(700))
                repeat(3) { b.qp.postReceive(it.toLong(), b.mr.slice(it * 1000L, 1000)) }
                link.message { send(1).from(a.mr.slice(0, 700)).signaled() }
                link.message { sendWithImmediate(2, -9).from(a.mr.slice(0, 64)).signaled() }
                link.message { send(3).signaled() }
                a.cq.take(3).forEachIndexed { i, done -> done.shouldBeDone(i + 1L, SEND, a.qp) }
                val (first, second, third) = b.cq.take(3)
                first.shouldBeDone(0, RECV, b.qp, bytes = link.offset + 700)
                second.shouldBeDone(1, RECV, b.qp, bytes = link.offset + 64, immediate = -9)
                third.shouldBeDone(2, RECV, b.qp, bytes = link.offset)
                b.mr.bytes(700, link.offset) shouldBe pattern(700)
                b.mr.bytes(64, 1000 + link.offset) shouldBe pattern(64)
                if (type == UD) (first.sourceQueuePair() to first.hasGrh()) shouldBe (a.qp.number() to true)
            }

            case(
                "should send inline bytes, from one place and from several, by extended calls on $type",
                EXTENDED_QUEUES,
            ) {
                val link = pair()
                val (a, b) = link
                repeat(2) { b.qp.postReceive(it.toLong(), b.mr.slice(it * 1000L, 1000)) }
                link.message { send(1).inline(pattern(60)).signaled() }
                link.message {
                    send(
                        2,
                    ).inline(pattern(10)).inline(pattern(20, seed = 2)).inline(pattern(5, seed = 3)).signaled()
                }
                a.cq.take(2).forEachIndexed { i, done -> done.shouldBeDone(i + 1L, SEND, a.qp) }
                b.cq.take(2).last().shouldBeDone(1, RECV, b.qp, bytes = link.offset + 35)
                b.mr.bytes(60, link.offset) shouldBe pattern(60)
                b.mr.bytes(35, 1000 + link.offset) shouldBe pattern(10) + pattern(20, seed = 2) + pattern(5, seed = 3)
            }
        }

        for (type in listOf(RC, UC)) {
            case("should write with and without immediate, and no bytes, by extended calls on $type", EXTENDED_QUEUES) {
                val (a, b) = linked(type, a = extendedEnd(type), b = extendedEnd(type))
                a.mr.put(pattern(300))
                b.qp.postReceive(7, b.mr.slice(0, 1))
                a.post {
                    write(1, b.mr.remote().at(1000)).from(a.mr.slice(0, 300)).signaled()
                    write(2, b.mr.remote()).signaled()
                    writeWithImmediate(3, b.mr.remote().at(2000), 33).from(a.mr.slice(0, 200)).signaled()
                }
                a.cq.take(3).forEachIndexed { i, done -> done.shouldBeDone(i + 1L, RDMA_WRITE, a.qp) }
                b.cq.takeOne().shouldBeDone(7, RECV_RDMA_WITH_IMM, b.qp, bytes = 200, immediate = 33)
                b.mr.bytes(300, 1000) shouldBe pattern(300)
                b.mr.bytes(200, 2000) shouldBe pattern(200)
                b.mr.bytes(1000) shouldBe ByteArray(1000)
            }
        }

        case("should read, and read no bytes, by extended calls", EXTENDED_QUEUES) {
            val (a, b) = linked(a = extendedEnd(), b = extendedEnd())
            b.mr.put(pattern(300))
            a.post {
                read(1, b.mr.remote().at(100)).into(a.mr.slice(1000, 200)).signaled()
                read(2, b.mr.remote()).signaled()
            }
            val (bytes, none) = a.cq.take(2)
            bytes.shouldBeDone(1, RDMA_READ, a.qp, bytes = 200)
            none.shouldBeDone(2, RDMA_READ, a.qp, bytes = 0)
            a.mr.bytes(200, 1000) shouldBe pattern(300).copyOfRange(100, 300)
        }

        case("should compare and swap, and fetch and add, by extended calls", EXTENDED_QUEUES, ATOMICS) {
            val (a, b) = linked(a = extendedEnd(), b = extendedEnd())
            b.mr.putLong(40, 8)
            a.post {
                fetchAndAdd(1, b.mr.remote().at(8), 2).into(a.mr.slice(0, 8)).signaled()
                compareAndSwap(2, b.mr.remote().at(8), 42, -7).into(a.mr.slice(8, 8)).signaled()
            }
            val (added, swapped) = a.cq.take(2)
            added.shouldBeDone(1, FETCH_ADD, a.qp, bytes = 8)
            swapped.shouldBeDone(2, COMP_SWAP, a.qp, bytes = 8)
            listOf(a.mr.long(), a.mr.long(8), b.mr.long(8)) shouldBe listOf(40L, 42L, -7L)
        }

        case(
            "should bind a window and end its key, locally and by the peer, by extended calls",
            EXTENDED_QUEUES,
            MEMORY_WINDOWS,
        ) {
            val (a, b) = linked(a = extendedEnd(), b = extendedEnd())
            val window = pd.memoryWindow(TYPE_2)
            val part = b.mr.slice(100, 200)
            val first = MemoryWindow.nextRkey(window.rkey())
            val second = MemoryWindow.nextRkey(first)
            b.post { bind(1, window, first, part, mask(REMOTE_WRITE)).signaled() }
            b.cq.takeOne().shouldBeDone(1, BIND_MW, b.qp)
            window.rkey() shouldBe first
            a.post { write(2, window.remote(part, first)).inline(pattern(8)).signaled() }
            a.cq.takeOne().shouldBeDone(2, RDMA_WRITE, a.qp)
            b.mr.bytes(8, 100) shouldBe pattern(8)

            b.post {
                localInvalidate(3, first).signaled()
                bind(4, window, second, part, mask(REMOTE_WRITE)).signaled()
            }
            b.cq.take(2).map { it.opcode() } shouldBe listOf(LOCAL_INV, BIND_MW)
            b.qp.postReceive(5, b.mr.slice(1000, 100))
            a.post { sendWithInvalidate(6, second).inline(pattern(20)).signaled() }
            a.cq.takeOne().shouldBeDone(6, SEND, a.qp)
            val received = b.cq.takeOne()
            received.shouldBeDone(5, RECV, b.qp, bytes = 20)
            received.hasInvalidatedRkey() shouldBe (REPORTS_INVALIDATED_KEY in device.capabilities)
            if (received.hasInvalidatedRkey()) received.invalidatedRkey() shouldBe second
            a.post { write(7, window.remote(part, second)).inline(pattern(8)) }
            a.cq.takeOne().shouldHaveFailed(7, REM_ACCESS_ERR, a.qp)
        }

        case(
            "should bind a window on UC by extended calls exactly if that is declared",
            EXTENDED_QUEUES,
            MEMORY_WINDOWS,
        ) {
            val (_, b) = linked(UC, a = extendedEnd(UC), b = extendedEnd(UC))
            val window = pd.memoryWindow(TYPE_2)
            val before = window.rkey()
            val key = MemoryWindow.nextRkey(before)

            fun bind() = b.post { bind(1, window, key, b.mr.slice(0, 8), mask(REMOTE_WRITE)).signaled() }
            if (EXTENDED_UC_WINDOWS in device.capabilities) {
                bind()
                b.cq.takeOne().shouldBeDone(1, BIND_MW, b.qp)
                window.rkey() shouldBe key
            } else {
                shouldThrow<WorkRequestException> { bind() }.errnoName() shouldBe "EINVAL"
                window.rkey() shouldBe before
            }
        }

        case(
            "should gather from entries of different lengths by extended calls where the device does",
            EXTENDED_QUEUES,
        ) {
            val (a, b) = linked(a = extendedEnd(), b = extendedEnd())
            a.mr.put(pattern(300))
            a.post { write(1, b.mr.remote()).from(a.mr.slice(0, 100)).from(a.mr.slice(200, 100)).signaled() }
            a.cq.takeOne().shouldBeDone(1, RDMA_WRITE, a.qp)
            b.mr.bytes(200) shouldBe pattern(300).copyOfRange(0, 100) + pattern(300).copyOfRange(200, 300)
            a.post { write(2, b.mr.remote()).from(a.mr.slice(0, 100)).from(a.mr.slice(200, 10)).signaled() }
            if (EXTENDED_GATHERING in device.capabilities) {
                a.cq.takeOne().shouldBeDone(2, RDMA_WRITE, a.qp)
                b.mr.bytes(110) shouldBe pattern(300).copyOfRange(0, 100) + pattern(300).copyOfRange(200, 210)
            } else {
                a.cq.takeOne().shouldHaveFailed(2, device.localError(LOC_QP_OP_ERR), a.qp)
            }
        }

        case("should post all of a list or nothing by extended calls when the queue is full", EXTENDED_QUEUES) {
            val few = QueuePairCapabilities(8, 8, 1, 1, 16)
            val (a, b) = linked(a = extendedEnd(capabilities = few), b = extendedEnd(capabilities = few))
            val one = SendRequests().apply { send(1).inline(pattern(8)).signaled() }
            // The peer has posted no receive, so that no request completes and leaves the queue.
            while (a.qp.tryPost(one) == 1) continue
            repeat(2) { b.qp.postReceive(it.toLong(), b.mr.slice()) }
            a.cq.take(2)
            val three = SendRequests().apply { repeat(3) { send(600L + it).inline(pattern(8)).signaled() } }
            a.qp.tryPost(three) shouldBe 0
            val refusal = shouldThrow<WorkRequestException> { a.qp.post(three) }
            refusal.errnoName() shouldBe "ENOMEM"
            refusal.index() shouldBe 0
            refusal.message shouldContain "The send queue is full"
            val two = SendRequests().apply { repeat(2) { send(700L + it).inline(pattern(8)).signaled() } }
            a.qp.tryPost(two) shouldBe 2
        }

        case("should tell that a list is longer than the send queue, by extended calls", EXTENDED_QUEUES) {
            val few = QueuePairCapabilities(8, 8, 1, 1, 16)
            val (a, _) = linked(a = extendedEnd(capabilities = few))
            val list = SendRequests().apply { repeat(500) { send(it.toLong()).inline(pattern(8)).signaled() } }
            val refusal = shouldThrow<WorkRequestException> { a.qp.tryPost(list) }
            refusal.errnoName() shouldBe "EINVAL"
            refusal.index() shouldBe 0
            refusal.message shouldContain "The list has 500 requests"
        }

        case(
            "should name the request that extended calls can't do, and post none before it",
            EXTENDED_QUEUES,
            ATOMICS,
        ) {
            val (a, b) = linked(a = extendedEnd(), b = extendedEnd())
            val bad =
                mapOf<String, SendRequests.() -> Unit>(
                    "max_send_sge" to {
                        write(2, b.mr.remote())
                        repeat(a.qp.capabilities().maxSendSge() + 1) { from(a.mr.slice(0, 1)) }
                    },
                    "max_inline_data" to
                        { write(2, b.mr.remote()).inline(pattern(a.qp.capabilities().maxInlineData() + 1)) },
                    "multiple of 8" to { fetchAndAdd(2, b.mr.remote().at(4), 1).into(a.mr.slice(0, 8)) },
                )
            for ((said, request) in bad) {
                val refusal =
                    shouldThrow<WorkRequestException> {
                        a.post {
                            write(1, b.mr.remote()).inline(pattern(8)).signaled()
                            request()
                        }
                    }
                refusal.errnoName() shouldBe "EINVAL"
                refusal.index() shouldBe 1
                refusal.message shouldContain said
            }
            a.cq.shouldStayEmpty()
            b.mr.long() shouldBe 0
        }

        case("should refuse an extended post before RTS", EXTENDED_QUEUES) {
            val end = extendedEnd()
            repeat(2) {
                shouldThrow<WorkRequestException> { end.post { send(1).from(end.mr.slice(0, 4)) } }.errnoName() shouldBe
                    "EINVAL"
                if (it == 0) end.qp.init(ConnectOptions.DEFAULTS)
            }
        }

        case("should report failures, and what they flushed, on an extended completion queue", EXTENDED_QUEUES) {
            val (a, b) = linked(a = extendedEnd(), b = extendedEnd())
            a.qp.postReceive(9, a.mr.slice())
            a.post {
                write(1, b.mr.address(), b.mr.rkey() xor 0x5500).from(a.mr.slice(0, 8))
                send(2).from(a.mr.slice(0, 8))
            }
            val done = a.cq.take(3).sortedBy { it.workRequestId() }
            done[0].shouldHaveFailed(1, REM_ACCESS_ERR, a.qp)
            done[1].shouldHaveFailed(2, WR_FLUSH_ERR, a.qp)
            done[2].shouldHaveFailed(9, WR_FLUSH_ERR, a.qp)
        }

        case("should poll an extended completion queue in parts, and resize it", EXTENDED_QUEUES) {
            val (a, b) = linked(a = extendedEnd(), b = extendedEnd())
            a.post { repeat(10) { write(it.toLong(), b.mr.remote()).inline(pattern(4)).signaled() } }
            val ids = mutableListOf<Long>()
            await("three") { a.cq.poll({ ids += it.workRequestId() }, 3 - ids.size) >= 0 && ids.size == 3 }
            a.cq.resize(256)
            a.cq.entries() shouldBeGreaterThanOrEqual 256
            ids += a.cq.take(7).map { it.workRequestId() }
            ids shouldBe (0L..9L).toList()
        }

        case("should announce completions of an extended queue on its channel", EXTENDED_QUEUES) {
            val channel = context.completionChannel()
            val (a, b) = linked(a = extendedEnd(cq = cq(channel = channel, extended = true)))
            a.cq.arm()
            channel.awaitEvent(Duration.ZERO).shouldBeNull()
            a.post { write(1, b.mr.remote()).inline(pattern(4)).signaled() }
            channel.awaitEvent(Duration.ofSeconds(10)) shouldBe a.cq
            a.cq.takeOne().shouldBeDone(1, RDMA_WRITE, a.qp)
        }

        case(
            "should serve plain queue pairs by an extended completion queue, and the other way round",
            EXTENDED_QUEUES,
        ) {
            val plain = cq()
            val extended = cq(extended = true)
            val (a, b) = linked(a = end(cq = extended), b = extendedEnd(cq = plain))
            listOf(a to b, b to a).forEach { (from, to) ->
                to.qp.postReceive(7, to.mr.slice())
                from.post { send(1).inline(pattern(9)).signaled() }
                from.cq.takeOne().shouldBeDone(1, SEND, from.qp)
                to.cq.takeOne().shouldBeDone(7, RECV, to.qp, bytes = 9)
            }
        }

        case("should refuse an extended completion queue beyond the device's sizes", EXTENDED_QUEUES) {
            val size = context.queryDevice().maxCqe() + 1
            val refusal =
                shouldThrow<RdmaSystemException> {
                    context.completionQueue(
                        CompletionQueueAttributes.of(size).asExtended(),
                    )
                }
            refusal.errnoName() shouldBe "EINVAL"
            refusal.operation() shouldBe "ibv_create_cq_ex"
            refusal.advice() shouldBe "cqe $size is above the device's max_cqe of ${size - 1}."
        }

        case("should refuse an extended completion queue on a vector that the device lacks", EXTENDED_QUEUES) {
            val vectors = context.completionVectors()
            val refusal =
                shouldThrow<RdmaSystemException> {
                    context.completionQueue(CompletionQueueAttributes(10, null, vectors + 1).asExtended())
                }
            refusal.errnoName() shouldBe "EINVAL"
            refusal.operation() shouldBe "ibv_create_cq_ex"
        }
    })
