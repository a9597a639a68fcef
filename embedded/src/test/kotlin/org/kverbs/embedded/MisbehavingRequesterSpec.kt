package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.shouldBe
import org.kverbs.WorkCompletionStatus
import org.kverbs.WorkCompletionStatus.LOC_LEN_ERR
import org.kverbs.WorkCompletionStatus.LOC_PROT_ERR
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.REM_INV_REQ_ERR
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.WorkCompletionStatus.WR_FLUSH_ERR
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.AsyncEventType.QP_ACCESS_ERR
import org.kverbs.attributes.AsyncEventType.QP_REQ_ERR
import org.kverbs.attributes.QueuePairState.ERR
import org.kverbs.attributes.QueuePairState.RTS
import org.kverbs.attributes.QueuePairType
import org.kverbs.embedded.GuardedBench.Companion.ACK
import org.kverbs.embedded.GuardedBench.Companion.MTU
import org.kverbs.embedded.WrongRequests.NAK_REMOTE_ACCESS
import org.kverbs.embedded.WrongRequests.Step
import org.kverbs.embedded.WrongRequests.firstSend
import org.kverbs.embedded.WrongRequests.send
import org.kverbs.embedded.WrongRequests.strays
import org.kverbs.embedded.WrongRequests.whole
import org.kverbs.embedded.WrongRequests.write
import org.kverbs.embedded.WrongRequests.wrongMessages
import org.kverbs.embedded.WrongRequests.wrongPlaces
import org.kverbs.embedded.internal.wire.Opcode
import org.kverbs.embedded.internal.wire.Opcode.RC_ACK
import org.kverbs.embedded.internal.wire.Opcode.RC_ATOMIC_WRITE
import org.kverbs.embedded.internal.wire.Opcode.RC_COMPARE_SWAP
import org.kverbs.embedded.internal.wire.Opcode.RC_FETCH_ADD
import org.kverbs.embedded.internal.wire.Opcode.RC_FLUSH
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_REQUEST
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_RESPONSE_ONLY
import org.kverbs.embedded.internal.wire.Opcode.RC_SEND_LAST
import org.kverbs.embedded.internal.wire.Opcode.RC_SEND_MIDDLE
import org.kverbs.embedded.internal.wire.Opcode.RC_SEND_ONLY
import org.kverbs.embedded.internal.wire.Opcode.RC_SEND_ONLY_INVALIDATE
import org.kverbs.embedded.internal.wire.Opcode.RC_WRITE_FIRST
import org.kverbs.embedded.internal.wire.Opcode.RC_WRITE_ONLY
import org.kverbs.embedded.internal.wire.Opcode.RC_WRITE_ONLY_IMMEDIATE
import org.kverbs.embedded.internal.wire.Opcode.UD_SEND_ONLY
import org.kverbs.embedded.internal.wire.Packet
import java.time.Duration

private const val NAK_SEQUENCE = 0x60
private const val NAK_INVALID_REQUEST = 0x61

/** The place and length of each queue pair's receive. */
private const val RECEIVE = 4096L
private const val ROOM = 600L

/**
 * Checks a peer with wrong requests: the device answers as IBA volume 1, 9.9.3 demands, and other queue pairs do not
 * notice.
 */
class MisbehavingRequesterSpec :
    FunSpec({
        wrongMessages.forEach { (name, packets) ->
            test("should refuse $name, end the queue pair, and serve another") {
                bench().use { bench ->
                    val inReceive = packets.first() === firstSend
                    bench.refuses(
                        packets,
                        NAK_INVALID_REQUEST,
                        QP_REQ_ERR,
                        if (inReceive) REM_INV_REQ_ERR else WR_FLUSH_ERR,
                    )
                }
            }
            val uc = packets.filter { it.opcode <= RC_WRITE_ONLY_IMMEDIATE }
            if (uc.size == packets.size) {
                test("should drop $name on UC, and take the next message") {
                    bench(QueuePairType.UC).use { it.dropsOnUc(packets) }
                }
            }
        }

        test(
            "should refuse a send that is longer than its receive, complete the receive with a length error, and " +
                "write nothing behind it",
        ) {
            bench().use { bench ->
                val packets = listOf(firstSend, send(RC_SEND_MIDDLE, MTU), send(RC_SEND_LAST, MTU))
                bench.refuses(packets, NAK_INVALID_REQUEST, QP_REQ_ERR, LOC_LEN_ERR)
            }
        }

        listOf(
            RC_WRITE_ONLY,
            RC_WRITE_ONLY_IMMEDIATE,
            RC_READ_REQUEST,
            RC_FETCH_ADD,
            RC_COMPARE_SWAP,
            RC_ATOMIC_WRITE,
            RC_FLUSH,
        ).forEach { opcode ->
            wrongPlaces.forEach { (name, move) ->
                test(
                    "should refuse memory $name to opcode 0x%02x, touch nothing, and serve another queue pair".format(
                        opcode,
                    ),
                ) {
                    bench().use { bench ->
                        val step = whole(opcode) { bench.move(this) }
                        bench.refuses(listOf(step), NAK_REMOTE_ACCESS, QP_ACCESS_ERR, WR_FLUSH_ERR)
                    }
                }
            }
        }

        test("should refuse a write that begins in the region and ends behind it before its first byte") {
            bench().use { bench ->
                val step = write(RC_WRITE_FIRST, MTU, of = (1 shl 16) + 1)
                bench.refuses(listOf(step), NAK_REMOTE_ACCESS, QP_ACCESS_ERR, WR_FLUSH_ERR)
            }
        }

        test("should refuse to invalidate a key that no window has") {
            bench().use { bench ->
                val step = send(RC_SEND_ONLY_INVALIDATE, 8)
                bench.refuses(listOf(step), NAK_REMOTE_ACCESS, QP_ACCESS_ERR, REM_ACCESS_ERR, RECEIVE until RECEIVE + 8)
            }
        }

        test("should refuse to flush a whole region whose key is wrong, of another domain, or without the right") {
            val wrong =
                wrongPlaces.filterKeys { "key" in it || "owner" in it || "domain" in it }
            wrong.size shouldBe 4
            for (move in wrong.values) {
                bench().use { bench ->
                    val step =
                        whole(RC_FLUSH) {
                            bench.move(this)
                            placement = 0x11
                        }
                    bench.refuses(listOf(step), NAK_REMOTE_ACCESS, QP_ACCESS_ERR, WR_FLUSH_ERR)
                }
            }
        }

        test("should flush a whole region whatever the address and the length, and ignore reserved bits") {
            bench().use { bench ->
                bench.arrive(RC_FLUSH, 0) {
                    placement = 0x11 or (0xffffff shl 6)
                    remoteAddress = -1
                    dmaLength = 8
                } shouldBe listOf(Sent(RC_READ_RESPONSE_ONLY, 0, ACK, 0))
                bench.unharmed(RTS)
            }
        }

        test("should carry out an atomic write once, and answer it as often as it arrives") {
            bench().use { bench ->
                val fill: Packet.() -> Unit = {
                    payloadLength = 8
                    dmaLength = 8
                }
                bench.arrive(RC_ATOMIC_WRITE, 0, fill) shouldBe listOf(Sent(RC_READ_RESPONSE_ONLY, 0, ACK, 0))
                bench.arrive(RC_FLUSH, 1) { placement = 1 } shouldBe listOf(Sent(RC_READ_RESPONSE_ONLY, 1, ACK, 0))
                bench.paint()
                repeat(3) {
                    bench.arrive(RC_ATOMIC_WRITE, 0, fill) shouldBe listOf(Sent(RC_READ_RESPONSE_ONLY, 0, ACK, 0))
                    bench.arrive(RC_FLUSH, 1) { placement = 1 } shouldBe
                        listOf(Sent(RC_READ_RESPONSE_ONLY, 1, ACK, 0))
                }
                bench.unharmed(RTS)
                bench.arrive(RC_ATOMIC_WRITE, 2, fill) shouldBe listOf(Sent(RC_READ_RESPONSE_ONLY, 2, ACK, 0))
                bench.unharmed(RTS, 0L until 8)
            }
        }

        test("should refuse them on a queue pair that owes the peer no answers") {
            for (opcode in listOf(RC_ATOMIC_WRITE, RC_FLUSH)) {
                PeerBench(reads = 0).use { bench ->
                    bench.arrive(opcode, 0, whole(opcode).fill) shouldBe listOf(Sent(RC_ACK, 0, NAK_INVALID_REQUEST, 0))
                    bench.qp.state() shouldBe ERR
                }
            }
        }

        test("should take an empty write and an empty read whatever their key and address") {
            bench().use { bench ->
                val anywhere: Packet.() -> Unit = {
                    rkey = 0
                    remoteAddress = -1
                    ackRequest = true
                }
                bench.arrive(RC_WRITE_ONLY, 0, anywhere) shouldBe listOf(Sent(RC_ACK, 0, ACK, 0))
                bench.arrive(RC_READ_REQUEST, 1, anywhere) shouldBe listOf(Sent(RC_READ_RESPONSE_ONLY, 1, ACK, 0))
                bench.unharmed(RTS)
            }
        }

        strays.forEach { (name, stray) ->
            test("should not answer $name, and go on") {
                bench().use { bench ->
                    bench.arrive(stray.opcode, 0, stray.fill).shouldBeEmpty()
                    bench.pass(Duration.ofSeconds(1)).shouldBeEmpty()
                    bench.poll().shouldBeEmpty()
                    bench.context.awaitAsyncEvent(Duration.ZERO).shouldBeNull()
                    bench.unharmed(RTS)
                    bench.arrive(RC_SEND_ONLY, 0) { ackRequest = true } shouldBe listOf(Sent(RC_ACK, 0, ACK, 0))
                    bench.poll().single().status() shouldBe SUCCESS
                }
            }
        }

        test("should take packets of a limited member of the partition") {
            bench().use { bench ->
                bench.arrive(RC_SEND_ONLY, 0) {
                    pkey = 0x7fff
                    ackRequest = true
                } shouldBe listOf(Sent(RC_ACK, 0, ACK, 0))
            }
        }

        test("should acknowledge a repeated request, and neither carry it out nor complete it again") {
            bench().use { bench ->
                val again: Packet.() -> Unit = {
                    ackRequest = true
                    payloadLength = 8
                    dmaLength = 8
                }
                bench.arrive(RC_WRITE_ONLY, 0, again) shouldBe listOf(Sent(RC_ACK, 0, ACK, 0))
                bench.arrive(RC_SEND_ONLY, 1, again) shouldBe listOf(Sent(RC_ACK, 1, ACK, 0))
                bench.paint()
                repeat(3) { bench.arrive(RC_WRITE_ONLY, 0, again) shouldBe listOf(Sent(RC_ACK, 1, ACK, 0)) }
                repeat(3) { bench.arrive(RC_SEND_ONLY, 1, again) shouldBe listOf(Sent(RC_ACK, 1, ACK, 0)) }
                // With an old PSN, and as another kind of request than it was.
                bench.arrive(RC_WRITE_ONLY, 0x800002, again) shouldBe listOf(Sent(RC_ACK, 1, ACK, 0))
                bench.arrive(RC_SEND_MIDDLE, 0, again) shouldBe listOf(Sent(RC_ACK, 1, ACK, 0))
                bench.poll().map { it.byteLength() } shouldBe listOf(8)
                bench.unharmed(RTS)
                bench.arrive(RC_WRITE_ONLY, 2, again) shouldBe listOf(Sent(RC_ACK, 2, ACK, 0))
            }
        }

        test("should take the packets of a message once, whichever of them arrive twice") {
            bench().use { bench ->
                val steps = listOf(firstSend, send(RC_SEND_MIDDLE, MTU), send(RC_SEND_LAST, 8))
                steps.forEachIndexed { psn, step ->
                    bench.arrive(step.opcode, psn, step.fill)
                    (0..psn).forEach { bench.arrive(steps[it].opcode, it, steps[it].fill) }
                }
                bench.poll().map { it.byteLength() } shouldBe listOf(2 * MTU + 8)
                bench.unharmed(RTS, RECEIVE until RECEIVE + 2 * MTU + 8)
            }
        }

        test("should ask once for missing packets, and again after the next gap") {
            bench().use { bench ->
                val fill: Packet.() -> Unit = {
                    payloadLength = 8
                    dmaLength = 8
                    ackRequest = true
                }
                bench.arrive(RC_WRITE_ONLY, 1, fill) shouldBe listOf(Sent(RC_ACK, 0, NAK_SEQUENCE, 0))
                listOf(1, 2, 7, 0x7ffffe).forEach { bench.arrive(RC_WRITE_ONLY, it, fill).shouldBeEmpty() }
                bench.unharmed(RTS)
                bench.arrive(RC_WRITE_ONLY, 0, fill) shouldBe listOf(Sent(RC_ACK, 0, ACK, 0))
                bench.arrive(RC_READ_REQUEST, 2, fill) shouldBe listOf(Sent(RC_ACK, 1, NAK_SEQUENCE, 0))
                bench.arrive(RC_WRITE_ONLY, 1, fill) shouldBe listOf(Sent(RC_ACK, 1, ACK, 0))
                bench.unharmed(RTS, 0L until 8)
            }
        }

        test("should refuse a wrong request after a gap only when its turn comes") {
            bench().use { bench ->
                bench.arrive(RC_SEND_MIDDLE, 1) { payloadLength = MTU } shouldBe
                    listOf(Sent(RC_ACK, 0, NAK_SEQUENCE, 0))
                bench.unharmed(RTS)
                bench.arrive(RC_SEND_ONLY, 0) { ackRequest = true } shouldBe listOf(Sent(RC_ACK, 0, ACK, 0))
                bench.arrive(RC_SEND_MIDDLE, 1) { payloadLength = MTU } shouldBe
                    listOf(Sent(RC_ACK, 1, NAK_INVALID_REQUEST, 0))
                bench.unharmed(ERR)
            }
        }

        test("should drop a datagram with a wrong Q_Key, and keep the receive for the next") {
            bench(QueuePairType.UD).use { bench ->
                listOf(0, 4, -1).forEach { wrong -> bench.arrive(UD_SEND_ONLY, 0) { qkey = wrong }.shouldBeEmpty() }
                bench.arrive(RC_SEND_ONLY, 0) { payloadLength = 8 }.shouldBeEmpty()
                bench.poll().shouldBeEmpty()
                bench.unharmed(RTS)
                bench.arrive(UD_SEND_ONLY, 0) { payloadLength = 8 }.shouldBeEmpty()
                bench.poll().map { it.status() to it.byteLength() } shouldBe listOf(SUCCESS to 48)
            }
        }

        test("should refuse a send whose receive's memory has gone, with a code for this side's failure") {
            GuardedBench().use { bench ->
                val gone = bench.qp.protectionDomain().memoryRegion(64, AccessFlag.LOCAL_WRITE)
                bench.qp.postReceive(7, gone.slice())
                gone.close()
                bench.arrive(RC_SEND_ONLY, 0) { payloadLength = 8 } shouldBe listOf(Sent(RC_ACK, 0, 0x63, 0))
                bench.poll().map { it.status() } shouldBe listOf(LOC_PROT_ERR)
                bench.unharmed(ERR)
            }
        }
    })

/** Makes a bench with one receive, number 7. */
private fun bench(type: QueuePairType = QueuePairType.RC) =
    GuardedBench(type).apply { qp.postReceive(7, mr.slice(RECEIVE, ROOM)) }

/**
 * Sends the packets in order. The last gets a NAK and ends the queue pair with an event; the receive completes with
 * [receive].
 */
private fun GuardedBench.refuses(
    packets: List<Step>,
    nak: Int,
    event: AsyncEventType,
    receive: WorkCompletionStatus,
    writable: LongRange = LongRange.EMPTY,
) {
    val last = packets.size - 1
    packets.dropLast(1).forEachIndexed { psn, step -> arrive(step.opcode, psn, step.fill).shouldBeEmpty() }
    arrive(packets[last].opcode, last, packets[last].fill) shouldBe listOf(Sent(RC_ACK, last, nak, 0))
    poll().map { it.workRequestId() to it.status() } shouldBe listOf(7L to receive)
    context.awaitAsyncEvent(Duration.ZERO)?.type() shouldBe event
    val begun = packets.dropLast(1).size.toLong() * MTU
    unharmed(ERR, 0L until begun, RECEIVE until RECEIVE + minOf(begun, ROOM), writable)
    arrive(RC_WRITE_ONLY, last) { ackRequest = true }.shouldBeEmpty()
    pass(Duration.ofSeconds(1)).shouldBeEmpty()
}

/** Sends the packets in order: none is answered, and the next whole message is taken. */
private fun GuardedBench.dropsOnUc(packets: List<Step>) {
    packets.forEachIndexed { psn, step -> arrive(step.opcode or Opcode.UC, psn, step.fill).shouldBeEmpty() }
    val status = poll().map { it.status() }
    withClue("a first or an only packet within a message begins another") {
        val begins = packets.size == 2 && packets[0] === firstSend && packets[1].opcode == RC_SEND_ONLY
        status shouldBe if (begins) listOf(SUCCESS) else emptyList()
    }
    unharmed(RTS, 0L until 2 * MTU, RECEIVE until RECEIVE + ROOM)
    if (status.isEmpty()) {
        arrive(RC_SEND_ONLY or Opcode.UC, packets.size) { payloadLength = 8 }.shouldBeEmpty()
        poll().map { it.status() to it.byteLength() } shouldBe listOf(SUCCESS to 8)
    }
}
