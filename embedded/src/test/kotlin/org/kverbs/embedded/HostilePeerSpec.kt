package org.kverbs.embedded

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import org.kverbs.WorkCompletionStatus
import org.kverbs.attributes.Gid
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import org.kverbs.embedded.internal.wire.Opcode.RC_ACK
import org.kverbs.embedded.internal.wire.Opcode.RC_ATOMIC_ACK
import org.kverbs.embedded.internal.wire.Opcode.RC_ATOMIC_WRITE
import org.kverbs.embedded.internal.wire.Opcode.RC_FETCH_ADD
import org.kverbs.embedded.internal.wire.Opcode.RC_FLUSH
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_REQUEST
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_RESPONSE_LAST
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_RESPONSE_ONLY
import org.kverbs.embedded.internal.wire.Opcode.RC_SEND_ONLY
import org.kverbs.embedded.internal.wire.Opcode.RC_WRITE_ONLY
import org.kverbs.embedded.internal.wire.Opcode.UC_SEND_FIRST
import org.kverbs.embedded.internal.wire.Opcode.UC_SEND_ONLY
import org.kverbs.embedded.internal.wire.Opcode.UD_SEND_ONLY
import org.kverbs.embedded.internal.wire.Packet
import java.lang.foreign.ValueLayout
import java.time.Duration

private const val ACK = 0x1f
private const val NAK_SEQUENCE = 0x60
private const val NAK_INVALID_REQUEST = 0x61
private const val NAK_REMOTE_ACCESS = 0x62
private const val RNR_NAK = 0x21
private const val MULTICAST = 0xffffff
private const val TWO_GIB = Int.MIN_VALUE
private val SOON = Duration.ofMillis(100)

private fun Packet.eight() {
    payloadLength = 8
    dmaLength = 8
}

/** Checks the answers to a peer that sends what no honest peer sends, packet by packet. */
class HostilePeerSpec :
    FunSpec({
        test("should answer a long read a window at a time, all of it in order") {
            PeerBench().use { bench ->
                val first = bench.arrive(RC_READ_REQUEST, 0) { dmaLength = 100 * 256 }
                first.size shouldBe 16
                val rest = bench.pass(SOON)
                (first + rest).map { it.psn } shouldBe (0 until 100).toList()
                rest.last().opcode shouldBe RC_READ_RESPONSE_LAST
                bench.scheduled shouldBe 0
            }
        }

        test("should answer the requests after a long read after its data, with one acknowledgement") {
            PeerBench().use { bench ->
                bench.arrive(RC_READ_REQUEST, 0) { dmaLength = 100 * 256 }
                bench.arrive(RC_FETCH_ADD, 100) { swapOrAdd = 1 }.shouldBeEmpty()
                bench
                    .arrive(RC_WRITE_ONLY, 101) {
                        ackRequest = true
                        payloadLength = 8
                        dmaLength = 8
                    }.shouldBeEmpty()
                bench.pass(SOON).takeLast(2).map { it.opcode to it.psn } shouldBe
                    listOf(RC_ATOMIC_ACK to 100, RC_ACK to 101)
            }
        }

        test("should send no more at once however often a long read is asked for again") {
            PeerBench(reads = 1).use { bench ->
                bench.arrive(RC_READ_REQUEST, 0) { dmaLength = 200 * 256 }.size shouldBe 16
                repeat(1000) { bench.arrive(RC_READ_REQUEST, 0) { dmaLength = 200 * 256 }.shouldBeEmpty() }
                bench.pass(SOON).map { it.psn } shouldBe (0 until 200).toList()
            }
        }

        test("should continue a read from the PSN that is requested again") {
            PeerBench().use { bench ->
                bench.arrive(RC_READ_REQUEST, 0) { dmaLength = 100 * 256 }
                bench.arrive(RC_READ_REQUEST, 50) {
                    dmaLength = 50 * 256
                    remoteAddress += 50 * 256
                }
                bench.pass(SOON).map { it.psn } shouldBe (50 until 100).toList()
            }
        }

        test("should keep no more reads than it announced, and let the peer repeat the others") {
            PeerBench(reads = 2).use { bench ->
                bench.arrive(RC_READ_REQUEST, 0) { dmaLength = 20 * 256 }.size shouldBe 16
                bench.arrive(RC_READ_REQUEST, 20) { dmaLength = 256 }.shouldBeEmpty()
                bench.arrive(RC_READ_REQUEST, 21) { dmaLength = 256 }.shouldBeEmpty()
                bench.arrive(RC_READ_REQUEST, 22) { dmaLength = 256 }.shouldBeEmpty()
                val rest = bench.pass(SOON)
                rest.dropLast(1).map { it.psn } shouldBe (16..20).toList()
                rest.last() shouldBe Sent(RC_ACK, 21, NAK_SEQUENCE, 0)
                bench.arrive(RC_READ_REQUEST, 21) { dmaLength = 256 }.single().psn shouldBe 21
                bench.qp.state() shouldBe QueuePairState.RTS
            }
        }

        test("should refuse a wrong request after a long read once, when the read is answered") {
            PeerBench().use { bench ->
                bench.arrive(RC_READ_REQUEST, 0) { dmaLength = 20 * 256 }
                val wrong: Packet.() -> Unit = {
                    rkey = rkey xor 0x100
                    dmaLength = 8
                }
                bench.arrive(RC_READ_REQUEST, 20, wrong).shouldBeEmpty()
                bench.pass(SOON).last() shouldBe Sent(RC_ACK, 20, NAK_SEQUENCE, 0)
                bench.arrive(RC_READ_REQUEST, 20, wrong) shouldBe listOf(Sent(RC_ACK, 20, NAK_REMOTE_ACCESS, 0))
                bench.qp.state() shouldBe QueuePairState.ERR
            }
        }

        test("should end a read with a NAK when its region is deregistered before all of it went out") {
            PeerBench().use { bench ->
                bench.arrive(RC_READ_REQUEST, 0) { dmaLength = 100 * 256 }.size shouldBe 16
                bench.mr.close()
                bench.pass(SOON) shouldBe listOf(Sent(RC_ACK, 16, NAK_REMOTE_ACCESS, 0))
                bench.qp.state() shouldBe QueuePairState.ERR
                bench.scheduled shouldBe 0
            }
        }

        test("should owe nothing after it is reset, destroyed or in the error state") {
            val ends =
                mapOf<String, (PeerBench) -> Unit>(
                    "reset" to { it.qp.modify(QueuePairAttributes.builder().state(QueuePairState.RESET).build()) },
                    "error" to { it.qp.modify(QueuePairAttributes.builder().state(QueuePairState.ERR).build()) },
                    "destroyed" to { it.qp.close() },
                )
            ends.values.forEach { end ->
                PeerBench().use { bench ->
                    bench.arrive(RC_READ_REQUEST, 0) { dmaLength = 100 * 256 }
                    end(bench)
                    bench.scheduled shouldBe 0
                    bench.pass(SOON).shouldBeEmpty()
                }
            }
        }

        test("should refuse reads and writes of more than 2 GiB, whatever the region") {
            listOf(RC_READ_REQUEST, RC_WRITE_ONLY).forEach { opcode ->
                PeerBench().use { bench ->
                    bench.arrive(opcode, 0) { dmaLength = TWO_GIB + 1 } shouldBe
                        listOf(Sent(RC_ACK, 0, NAK_INVALID_REQUEST, 0))
                    bench.qp.state() shouldBe QueuePairState.ERR
                }
                PeerBench().use { bench ->
                    bench.arrive(opcode, 0) { dmaLength = TWO_GIB } shouldBe
                        listOf(Sent(RC_ACK, 0, NAK_REMOTE_ACCESS, 0))
                }
            }
        }

        test("should not answer a repeated read that is longer than the first request") {
            PeerBench().use { bench ->
                bench.arrive(RC_READ_REQUEST, 0) { dmaLength = 256 }.size shouldBe 1
                bench.arrive(RC_READ_REQUEST, 0) { dmaLength = 512 }.shouldBeEmpty()
            }
        }

        test("should carry out an atomic once, and repeat the same answer as often as it is asked") {
            PeerBench().use { bench ->
                repeat(3) { psn ->
                    repeat(
                        3,
                    ) { bench.arrive(RC_FETCH_ADD, psn) { swapOrAdd = 1 }.single().opcode shouldBe RC_ATOMIC_ACK }
                }
                bench.mr.memory().get(ValueLayout.JAVA_LONG, 0) shouldBe 3
                bench.arrive(RC_FETCH_ADD, 0) { swapOrAdd = 1 }.shouldBeEmpty() // forgotten: it takes two
            }
        }

        test("should answer atomic writes and flushes after the long read before them, and carry them out in order") {
            PeerBench(reads = 4).use { bench ->
                bench.arrive(RC_READ_REQUEST, 0) { dmaLength = 100 * 256 }
                bench.arrive(RC_ATOMIC_WRITE, 100) { eight() }.shouldBeEmpty()
                bench.arrive(RC_FLUSH, 101) { placement = 1 }.shouldBeEmpty()
                bench.pass(SOON).takeLast(2) shouldBe
                    listOf(100, 101).map { Sent(RC_READ_RESPONSE_ONLY, it, ACK, 0) }
            }
        }

        test("should keep no more of them than it announced, and let the peer repeat the others") {
            PeerBench(reads = 2).use { bench ->
                bench.arrive(RC_READ_REQUEST, 0) { dmaLength = 20 * 256 }
                bench.arrive(RC_ATOMIC_WRITE, 20) { eight() }.shouldBeEmpty()
                bench.arrive(RC_FLUSH, 21) { placement = 1 }.shouldBeEmpty()
                bench.arrive(RC_ATOMIC_WRITE, 22) { eight() }.shouldBeEmpty()
                bench.pass(SOON).takeLast(2) shouldBe
                    listOf(Sent(RC_READ_RESPONSE_ONLY, 20, ACK, 0), Sent(RC_ACK, 21, NAK_SEQUENCE, 0))
                bench.arrive(RC_FLUSH, 21) { placement = 1 } shouldBe listOf(Sent(RC_READ_RESPONSE_ONLY, 21, ACK, 0))
            }
        }

        test("should not answer requests after one that found no receive") {
            PeerBench().use { bench ->
                bench.arrive(RC_SEND_ONLY, 0) shouldBe listOf(Sent(RC_ACK, 0, RNR_NAK, 0))
                bench.arrive(RC_SEND_ONLY, 1).shouldBeEmpty()
                bench.qp.postReceive(1, bench.mr.slice())
                bench.arrive(RC_SEND_ONLY, 0) { ackRequest = true } shouldBe listOf(Sent(RC_ACK, 0, ACK, 0))
            }
        }

        test(
            "should keep to the receiver's timer when a NAK for the sequence comes behind it, even without a timeout " +
                "of its own",
        ) {
            PeerBench(timeout = 0).use { bench ->
                bench.during { bench.qp.postWith { it.send(1).from(bench.mr.slice(0, 8)).signaled() } }.size shouldBe 1
                bench.arrive(RC_ACK, 0) { syndrome = RNR_NAK }.shouldBeEmpty()
                bench.arrive(RC_ACK, 0) { syndrome = NAK_SEQUENCE }.shouldBeEmpty()
                bench.pass(SOON).single().psn shouldBe 0
            }
        }

        test("should send a read again that was lost before a request that found no receive") {
            PeerBench(timeout = 0).use { bench ->
                bench.qp.postWith { it.read(1, bench.mr.remote()).into(bench.mr.slice(0, 8)) }
                bench.qp.postWith { it.send(2).from(bench.mr.slice(0, 8)) }
                bench.arrive(RC_ACK, 1) { syndrome = RNR_NAK }
                bench.pass(SOON).map { it.psn } shouldBe listOf(0, 1)
            }
        }

        test("should reuse the receive of an abandoned UC message") {
            PeerBench(QueuePairType.UC).use { bench ->
                bench.qp.postReceive(7, bench.mr.slice(0, 1024))
                bench.arrive(UC_SEND_FIRST, 0) { payloadLength = 256 }
                bench.arrive(UC_SEND_ONLY, 5) { payloadLength = 10 }.shouldBeEmpty()
                val done = bench.poll().single()
                done.workRequestId() shouldBe 7
                done.byteLength() shouldBe 10
                done.status() shouldBe WorkCompletionStatus.SUCCESS
            }
        }

        test("should drop a datagram that is too long, keep the receive for the next, and flush it in the end") {
            PeerBench(QueuePairType.UD).use { bench ->
                bench.qp.postReceive(7, bench.mr.slice(0, 50))
                bench.qp.postReceive(8, bench.mr.slice(0, 50))
                val long: Packet.() -> Unit = { payloadLength = 11 }
                bench.arrive(UD_SEND_ONLY, 0, long)
                bench.poll().shouldBeEmpty()
                bench.arrive(UD_SEND_ONLY, 1) { payloadLength = 10 }
                bench.poll().map { it.workRequestId() to it.byteLength() } shouldBe listOf(7L to 50)
                bench.arrive(UD_SEND_ONLY, 2, long)
                bench.qp.state() shouldBe QueuePairState.RTS
                bench.qp.modify(QueuePairAttributes.builder().state(QueuePairState.ERR).build())
                bench.poll().map { it.workRequestId() to it.status() } shouldBe
                    listOf(8L to WorkCompletionStatus.WR_FLUSH_ERR)
            }
        }

        test("should drop a datagram of another partition, to a group too") {
            PeerBench(QueuePairType.UD).use { bench ->
                bench.qp.attachMulticast(Gid.parse("239.1.2.3"), 0)
                repeat(4) { bench.qp.postReceive(it.toLong(), bench.mr.slice(0, 64)) }
                val toGroup: Packet.() -> Unit = {
                    destinationQp = MULTICAST
                    destinationGidLow = 0xffff_ef01_0203
                }
                bench.arrive(UD_SEND_ONLY, 0) { pkey = 0x8001 }
                bench.arrive(UD_SEND_ONLY, 1) {
                    toGroup()
                    pkey = 0x8001
                }
                bench.poll().shouldBeEmpty()
                bench.arrive(UD_SEND_ONLY, 2) {
                    toGroup()
                    pkey = 0x7fff // from a limited member
                }
                bench.poll().map { it.workRequestId() } shouldBe listOf(0L)
                bench.qp.detachMulticast(Gid.parse("239.1.2.3"), 0)
            }
        }

        test("should complete a shared receive that a datagram was too long for, and go on") {
            PeerBench(QueuePairType.UD, srqEntries = 4).use { bench ->
                val srq = checkNotNull(bench.srq)
                srq.postReceive(7, bench.mr.slice(0, 50))
                srq.postReceive(8, bench.mr.slice(0, 50))
                bench.arrive(UD_SEND_ONLY, 0) { payloadLength = 11 }
                bench.arrive(UD_SEND_ONLY, 1) { payloadLength = 10 }
                bench.poll().map { it.workRequestId() to it.status() } shouldBe
                    listOf(7L to WorkCompletionStatus.LOC_LEN_ERR, 8L to WorkCompletionStatus.SUCCESS)
                bench.qp.state() shouldBe QueuePairState.RTS
            }
        }
    })
