package org.kverbs.acceptance.contract

import io.kotest.matchers.shouldBe
import org.kverbs.ReceiveRequests
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionOpcode.SEND
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UC
import org.kverbs.attributes.QueuePairType.UD

/** Checks messages into posted receives, on each transport. */
internal class SendSpec :
    ContractSpec({
        for (type in listOf(RC, UC, UD)) sends(type)

        for (type in listOf(RC, UC)) {
            case("should send 1 MiB in many packets on $type", type.capability) {
                val size = 1 shl 20
                val (a, b) = linked(type, a = end(type, bytes = size.toLong()), b = end(type, bytes = size.toLong()))
                a.mr.put(pattern(size))
                b.qp.postReceive(7, b.mr.slice())
                a.post { send(1).from(a.mr.slice()).signaled() }
                a.cq.takeOne().shouldBeDone(1, SEND, a.qp)
                b.cq.takeOne().shouldBeDone(7, RECV, b.qp, bytes = size.toLong())
                b.mr.bytes(size) shouldBe pattern(size)
            }
        }
    })

private fun Contract.sends(type: QueuePairType) {
    case("should send to the peer's receive on $type", type.capability) {
        val link = linked(type)
        val (a, b) = link
        a.mr.put(pattern(1000))
        b.qp.postReceive(7, b.mr.slice())
        link.message { send(1).from(a.mr.slice(0, 1000)).signaled() }
        a.cq.takeOne().shouldBeDone(1, SEND, a.qp)
        b.cq.takeOne().shouldBeDone(7, RECV, b.qp, bytes = link.offset + 1000)
        b.mr.bytes(1000, link.offset) shouldBe pattern(1000)
        b.mr.bytes(8, link.offset + 1000) shouldBe ByteArray(8)
    }

    case("should send with immediate on $type", type.capability) {
        val link = linked(type)
        val (a, b) = link
        a.mr.put(pattern(64))
        b.qp.postReceive(7, b.mr.slice())
        link.message { sendWithImmediate(1, 0xcafe1234.toInt()).from(a.mr.slice(0, 64)).signaled() }
        a.cq.takeOne().shouldBeDone(1, SEND, a.qp)
        b.cq.takeOne().shouldBeDone(7, RECV, b.qp, bytes = link.offset + 64, immediate = 0xcafe1234.toInt())
        b.mr.bytes(64, link.offset) shouldBe pattern(64)
    }

    case("should send no bytes on $type", type.capability) {
        val link = linked(type)
        val (a, b) = link
        b.qp.postReceive(7, b.mr.slice())
        b.qp.postReceive(8, b.mr.slice())
        link.message { send(1).signaled() }
        link.message { sendWithImmediate(2, 5).signaled() }
        a.cq.take(2).forEachIndexed { i, done -> done.shouldBeDone(i + 1L, SEND, a.qp) }
        val (first, second) = b.cq.take(2)
        first.shouldBeDone(7, RECV, b.qp, bytes = link.offset)
        second.shouldBeDone(8, RECV, b.qp, bytes = link.offset, immediate = 5)
    }

    case("should gather a message from several buffers and scatter it to several on $type", type.capability) {
        val link = linked(type)
        val (a, b) = link
        a.mr.put(pattern(10, seed = 1), 0)
        a.mr.put(pattern(20, seed = 2), 100)
        a.mr.put(pattern(70, seed = 3), 200)
        val receive = ReceiveRequests().receive(7)
        if (link.offset > 0) receive.into(b.mr.slice(0, link.offset))
        b.qp.postReceive(receive.into(b.mr.slice(1000, 50)).into(b.mr.slice(2000, 25)).into(b.mr.slice(3000, 100)))
        link.message {
            send(1)
                .from(a.mr.slice(0, 10))
                .from(a.mr.slice(100, 20))
                .from(a.mr.slice(200, 70))
                .signaled()
        }
        a.cq.takeOne().shouldBeDone(1, SEND, a.qp)
        b.cq.takeOne().shouldBeDone(7, RECV, b.qp, bytes = link.offset + 100)
        val message = pattern(10, seed = 1) + pattern(20, seed = 2) + pattern(70, seed = 3)
        b.mr.bytes(50, 1000) shouldBe message.copyOfRange(0, 50)
        b.mr.bytes(25, 2000) shouldBe message.copyOfRange(50, 75)
        b.mr.bytes(26, 3000) shouldBe message.copyOfRange(75, 100) + 0
    }

    case("should send inline bytes that may change as soon as the post has returned on $type", type.capability) {
        val link = linked(type)
        val (a, b) = link
        val bytes = pattern(60)
        a.mr.put(pattern(30, seed = 9))
        b.qp.postReceive(7, b.mr.slice(0, 1000))
        b.qp.postReceive(8, b.mr.slice(1000, 1000))
        link.message { send(1).inline(bytes).signaled() }
        bytes.fill(0)
        link.message { send(2).inline(a.mr.slice(0, 30)).signaled() }
        a.mr.put(ByteArray(30))
        a.cq.take(2).forEachIndexed { i, done -> done.shouldBeDone(i + 1L, SEND, a.qp) }
        val (first, second) = b.cq.take(2)
        first.shouldBeDone(7, RECV, b.qp, bytes = link.offset + 60)
        second.shouldBeDone(8, RECV, b.qp, bytes = link.offset + 30)
        b.mr.bytes(60, link.offset) shouldBe pattern(60)
        b.mr.bytes(30, 1000 + link.offset) shouldBe pattern(30, seed = 9)
    }

    case("should complete only the signaled one of three sends on $type", type.capability) {
        val link = linked(type)
        val (a, b) = link
        (1L..3L).forEach { b.qp.postReceive(it, b.mr.slice(it * 1000, 1000)) }
        (1..3).forEach { a.mr.put(pattern(50, seed = it), it * 100L) }
        link.message { send(11).from(a.mr.slice(100, 50)) }
        link.message { send(12).from(a.mr.slice(200, 50)) }
        link.message { send(13).from(a.mr.slice(300, 50)).signaled() }
        b.cq.take(3).forEachIndexed { i, done -> done.shouldBeDone(i + 1L, RECV, b.qp, bytes = link.offset + 50) }
        a.cq.takeOne().shouldBeDone(13, SEND, a.qp)
        a.cq.shouldStayEmpty()
        (1..3).forEach { b.mr.bytes(50, it * 1000 + link.offset) shouldBe pattern(50, seed = it) }
    }
}
