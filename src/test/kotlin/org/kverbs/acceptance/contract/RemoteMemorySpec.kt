package org.kverbs.acceptance.contract

import io.kotest.matchers.shouldBe
import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionOpcode.RDMA_READ
import org.kverbs.WorkCompletionOpcode.RDMA_WRITE
import org.kverbs.WorkCompletionOpcode.RECV_RDMA_WITH_IMM
import org.kverbs.acceptance.contract.Capability.RAW_CONNECT
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UC

/** Checks writes to and reads of the peer's memory. */
internal class RemoteMemorySpec :
    ContractSpec({
        for (type in listOf(RC, UC)) {
            case("should write into the peer's memory and complete nothing there on $type", type.capability) {
                val (a, b) = linked(type)
                a.mr.put(pattern(500))
                a.post {
                    write(
                        1,
                        RemoteMemory.parse(b.mr.remote().toText()).at(64),
                    ).from(a.mr.slice(0, 500)).signaled()
                }
                a.cq.takeOne().shouldBeDone(1, RDMA_WRITE, a.qp)
                await("the last byte") { b.mr.bytes(500, 64).contentEquals(pattern(500)) }
                b.mr.bytes(64) shouldBe ByteArray(64)
                b.mr.bytes(64, 564) shouldBe ByteArray(64)
                b.cq.shouldStayEmpty()
            }

            case("should write with immediate and complete the peer's receive on $type", type.capability) {
                val (a, b) = linked(type)
                a.mr.put(pattern(300))
                b.qp.postReceive(7, b.mr.slice(0, 10))
                a.post { writeWithImmediate(1, b.mr.remote().at(100), -2).from(a.mr.slice(0, 300)).signaled() }
                a.cq.takeOne().shouldBeDone(1, RDMA_WRITE, a.qp)
                b.cq.takeOne().shouldBeDone(7, RECV_RDMA_WITH_IMM, b.qp, bytes = 300, immediate = -2)
                b.mr.bytes(300, 100) shouldBe pattern(300)
                b.mr.bytes(100) shouldBe ByteArray(100)
            }

            case("should write 1 MiB in many packets on $type", type.capability) {
                val size = 1 shl 20
                val (a, b) = linked(type, a = end(type, bytes = size.toLong()), b = end(type, bytes = size.toLong()))
                a.mr.put(pattern(size))
                b.qp.postReceive(7, b.mr.slice())
                a.post { writeWithImmediate(1, b.mr.remote(), 0).from(a.mr.slice()).signaled() }
                a.cq.takeOne().shouldBeDone(1, RDMA_WRITE, a.qp)
                b.cq.takeOne().shouldBeDone(7, RECV_RDMA_WITH_IMM, b.qp, bytes = size.toLong(), immediate = 0)
                b.mr.bytes(size) shouldBe pattern(size)
            }

            case("should write no bytes, gathered and inline bytes on $type", type.capability) {
                val (a, b) = linked(type)
                a.mr.put(pattern(40, seed = 4))
                a.post {
                    write(1, b.mr.remote()).signaled()
                    write(2, b.mr.remote()).from(a.mr.slice(0, 10)).from(a.mr.slice(10, 30)).signaled()
                    write(3, b.mr.remote().at(40)).inline(pattern(20, seed = 5)).signaled()
                }
                a.cq.take(3).forEachIndexed { i, done -> done.shouldBeDone(i + 1L, RDMA_WRITE, a.qp) }
                await("all bytes") { b.mr.bytes(60).contentEquals(pattern(40, seed = 4) + pattern(20, seed = 5)) }
            }
        }

        case("should read the peer's memory, scattered to several buffers", RAW_CONNECT) {
            val (a, b) = linked()
            b.mr.put(pattern(1000))
            a.post { read(1, b.mr.remote().at(200)).into(a.mr.slice(0, 300)).into(a.mr.slice(1000, 100)).signaled() }
            a.cq.takeOne().shouldBeDone(1, RDMA_READ, a.qp, bytes = 400)
            a.mr.bytes(300) shouldBe pattern(1000).copyOfRange(200, 500)
            a.mr.bytes(101, 1000) shouldBe pattern(1000).copyOfRange(500, 600) + 0
            b.cq.shouldStayEmpty()
        }

        case("should read no bytes", RAW_CONNECT) {
            val (a, b) = linked()
            a.post { read(1, b.mr.remote()).signaled() }
            a.cq.takeOne().shouldBeDone(1, RDMA_READ, a.qp, bytes = 0)
        }

        case("should read 1 MiB in many packets", RAW_CONNECT) {
            val size = 1 shl 20
            val (a, b) = linked(a = end(bytes = size.toLong()), b = end(bytes = size.toLong()))
            b.mr.put(pattern(size))
            a.post { read(1, b.mr.remote()).into(a.mr.slice()).signaled() }
            a.cq.takeOne().shouldBeDone(1, RDMA_READ, a.qp, bytes = size.toLong())
            a.mr.bytes(size) shouldBe pattern(size)
        }

        case("should send the result of a read when the send is fenced", RAW_CONNECT) {
            val (a, b) = linked()
            val size = 8192L
            b.mr.put(pattern(size.toInt()))
            b.qp.postReceive(7, b.mr.slice(size, size))
            a.post {
                read(1, b.mr.remote().slice(0, size)).into(a.mr.slice(0, size)).signaled()
                send(2).from(a.mr.slice(0, size)).signaled().fence()
            }
            a.cq.take(2).map { it.workRequestId() } shouldBe listOf(1L, 2L)
            b.cq.takeOne()
            b.mr.bytes(size.toInt(), size) shouldBe pattern(size.toInt())
        }
    })
