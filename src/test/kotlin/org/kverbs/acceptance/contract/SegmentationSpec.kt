package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.QueuePairInitAttributes
import org.kverbs.SendRequests
import org.kverbs.UnsupportedVerbException
import org.kverbs.WorkCompletionOpcode
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionOpcode.SEND
import org.kverbs.WorkCompletionStatus
import org.kverbs.WorkRequestException
import org.kverbs.acceptance.contract.Capability.FLOW_STEERING
import org.kverbs.acceptance.contract.Capability.RAW_PACKET
import org.kverbs.acceptance.contract.Capability.SEGMENTATION
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairType
import org.kverbs.dsl.flow

private const val MINE = "02:00:00:00:00:01"
private const val IPV4 = 0x0800
private const val IPV6 = 0x86dd
private const val V4 = "192.0.2.1"
private const val V6 = "2001:db8::1"
private const val PAYLOAD_AT = 8_192L

/** Checks sends that the device cuts into TCP segments. An independent parser reads the segments. */
internal class SegmentationSpec :
    ContractSpec({
        for (extended in listOf(false, true)) {
            val calls = if (extended) "extended" else "plain"
            case("should cut a stream into frames by the $calls calls", SEGMENTATION, RAW_PACKET, FLOW_STEERING) {
                val flags = ACK or FIN or PUSH or WINDOW_REDUCED
                for ((payload, size) in listOf(3000 to 1000, 3001 to 1000, 999 to 1000, 1 to 1, 4000 to 1460)) {
                    val sender = segmenting(QueuePairType.RAW_PACKET, extended)
                    val receiver = end(QueuePairType.RAW_PACKET).apply { qp.activate(ConnectOptions.DEFAULTS) }
                    val flow = receiver.qp.flow { }
                    val header = ethernet(MINE, IPV4, tcpHeader(V4, V4, sequence = 0xffff_ff00, flags = flags))
                    val count = (payload + size - 1) / size
                    repeat(count) { receiver.qp.postReceive(it.toLong(), receiver.mr.slice(2000L * it, 2000)) }
                    sender.sendSegmented(header, payload, size)
                    val segments = receiver.framesOf(count).map { readTcp(it.copyFrom(14)) }
                    withClue("$payload bytes by $size") { segments.shouldBeStream(payload, size, 0xffff_ff00, flags) }
                    receiver.cq.shouldStayEmpty()
                    flow.close()
                }
            }
        }

        case(
            "should cut a stream over IPv6 behind a VLAN tag, with options of TCP",
            SEGMENTATION,
            RAW_PACKET,
            FLOW_STEERING,
        ) {
            val sender = segmenting(QueuePairType.RAW_PACKET)
            val receiver = end(QueuePairType.RAW_PACKET).apply { qp.activate(ConnectOptions.DEFAULTS) }
            receiver.qp.flow { }
            val header = ethernet(MINE, IPV6, tcpHeader(V6, "2001:db8::2", options = ByteArray(12) { 1 }), vlan = 5)
            repeat(3) { receiver.qp.postReceive(it.toLong(), receiver.mr.slice(2000L * it, 2000)) }
            sender.sendSegmented(header, 2500, 1000)
            val segments = receiver.framesOf(3).map { readTcp(it.copyFrom(18)) }
            segments.shouldBeStream(2500, 1000, 1000, ACK)
        }

        for (extended in listOf(false, true)) {
            case("should cut a stream into datagrams, extended: $extended", SEGMENTATION) {
                val link = linked(QueuePairType.UD, a = segmentingEnd(QueuePairType.UD, extended))
                val (a, b) = link
                val header = byteArrayOf(0x08, 0, 0, 0) + tcpHeader(V4, V4) // the encapsulation of IP over InfiniBand
                repeat(4) { b.qp.postReceive(it.toLong(), b.mr.slice(2000L * it, 2000)) }
                a.mr.put(pattern(3500), PAYLOAD_AT)
                link.message { sendSegmented(7, header, 900).from(a.mr.slice(PAYLOAD_AT, 3500)).signaled() }
                a.cq.takeOne().shouldBeDone(7, WorkCompletionOpcode.TSO, a.qp)
                val segments =
                    b.framesOf(4).map { received ->
                        val datagram = received.copyFrom(GRH_BYTES.toInt())
                        datagram.copyOf(4) shouldBe byteArrayOf(0x08, 0, 0, 0)
                        readTcp(datagram.copyFrom(4))
                    }
                segments.shouldBeStream(3500, 900, 1000, ACK)
            }
        }

        case(
            "should gather the payload from several buffers, between other sends",
            SEGMENTATION,
            RAW_PACKET,
            FLOW_STEERING,
        ) {
            val sender = segmenting(QueuePairType.RAW_PACKET)
            val receiver = end(QueuePairType.RAW_PACKET).apply { qp.activate(ConnectOptions.DEFAULTS) }
            receiver.qp.flow { }
            repeat(4) { receiver.qp.postReceive(it.toLong(), receiver.mr.slice(2000L * it, 2000)) }
            sender.mr.put(pattern(1000), PAYLOAD_AT)
            val other = ethernet(MINE, 0x88b5, pattern(60))
            sender.mr.put(other, 0)
            sender.post {
                send(1).from(sender.mr.slice(0, other.size.toLong()))
                sendSegmented(2, ethernet(MINE, IPV4, tcpHeader(V4, V4)), 600)
                from(sender.mr.slice(PAYLOAD_AT, 333)).from(sender.mr.slice(PAYLOAD_AT + 333, 667)).signaled()
                send(3).from(sender.mr.slice(0, other.size.toLong())).signaled()
                completionOpcode(1) shouldBe WorkCompletionOpcode.TSO
            }
            val (stream, last) = sender.cq.take(2)
            stream.shouldBeDone(2, WorkCompletionOpcode.TSO, sender.qp)
            last.shouldBeDone(3, SEND, sender.qp)
            val frames = receiver.framesOf(4)
            listOf(frames[0], frames[3]).forEach { it shouldBe other }
            frames.subList(1, 3).map { readTcp(it.copyFrom(14)) }.shouldBeStream(1000, 600, 1000, ACK)
        }

        for (extended in listOf(false, true)) {
            case(
                "should refuse headers and payloads that it can't segment, extended: $extended",
                SEGMENTATION,
                RAW_PACKET,
            ) {
                val sender = segmenting(QueuePairType.RAW_PACKET, extended)
                val good = ethernet(MINE, IPV4, tcpHeader(V4, V4))
                val wrong =
                    listOf(
                        good + ByteArray(1) to "end with its TCP header",
                        good.copyOf(good.size - 1) to "end with its TCP header",
                        good.copyOf(13) to "TCP over IPv4 or IPv6",
                        ethernet(MINE, IPV4, ipv4("198.51.100.7", 17, udp(53))) to "end with its TCP header",
                        ethernet(MINE, IPV4, ipv4("198.51.100.7", 6, tcp(80), fragment = 9)) to "no fragment",
                        ethernet(MINE, 0x88b5, pattern(60)) to "TCP over IPv4 or IPv6",
                        good + ByteArray(100) to "max_tso_header is 128",
                    )
                for ((header, reason) in wrong) {
                    refusal(sender) { sendSegmented(1, header, 1000).from(sender.mr.slice(0, 100)) } shouldContain
                        reason
                }
                refusal(sender) { sendSegmented(1, good, 1000) } shouldContain "1 to 262144"
                refusal(sender) { sendSegmented(1, good, 1000).inline(pattern(10)) } shouldContain "inline"
                for (size in listOf(0, 65_536)) {
                    shouldThrow<IllegalArgumentException> {
                        SendRequests().sendSegmented(1, good, size)
                    }.message shouldContain "segmentSize"
                }
                shouldThrow<IllegalArgumentException> { SendRequests().sendSegmented(1, ByteArray(0), 1) }
                sender.post { sendSegmented(4, good, 500).from(sender.mr.slice(0, 1000)).signaled() }
                sender.cq.takeOne().shouldBeDone(4, WorkCompletionOpcode.TSO, sender.qp)
            }
        }

        case(
            "should fail a segment that is longer than a frame can be, and one of wrong memory",
            SEGMENTATION,
            RAW_PACKET,
        ) {
            val header = ethernet(MINE, IPV4, tcpHeader(V4, V4))
            val long = segmenting(QueuePairType.RAW_PACKET)
            long.post { sendSegmented(1, header, 5000).from(long.mr.slice(0, 6000)) }
            long.cq.takeOne().shouldHaveFailed(1, WorkCompletionStatus.LOC_LEN_ERR, long.qp)
            val astray = segmenting(QueuePairType.RAW_PACKET)
            astray.post { sendSegmented(2, header, 100).entry(astray.mr.address(), 1000, astray.mr.lkey() + 77) }
            astray.cq.takeOne().shouldHaveFailed(2, WorkCompletionStatus.LOC_PROT_ERR, astray.qp)
        }

        case("should refuse it on a queue pair that was not made for it", SEGMENTATION) {
            val link = linked(QueuePairType.UD)
            val end = link.a
            val refusal =
                shouldThrow<UnsupportedVerbException> {
                    link.message { sendSegmented(1, tcpHeader(V4, V4), 1).from(end.mr.slice(0, 10)) }
                }
            refusal.operation() shouldBe "ibv_wr_send_tso"
            refusal.advice() shouldContain "withMaxTsoHeader(bytes)"
            shouldThrow<IllegalArgumentException> {
                QueuePairInitAttributes.of(QueuePairType.RC, end.cq).withMaxTsoHeader(64)
            }.message shouldContain "RAW_PACKET and UD"
            shouldThrow<IllegalArgumentException> {
                QueuePairInitAttributes.of(QueuePairType.UD, end.cq).withMaxTsoHeader(65_536)
            }.message shouldContain "maxTsoHeader"
        }
    })

private fun refusal(
    sender: End,
    request: SendRequests.() -> Unit,
): String = checkNotNull(shouldThrow<WorkRequestException> { sender.post(request) }.message)

/** Makes a queue pair in RTS that segments sends. */
private fun Bench.segmenting(
    type: QueuePairType,
    extended: Boolean = false,
): End = segmentingEnd(type, extended).apply { qp.activate(ConnectOptions.DEFAULTS) }

private fun Bench.segmentingEnd(
    type: QueuePairType,
    extended: Boolean,
): End {
    val cq = cq()
    val plain = QueuePairInitAttributes.of(type, cq).with(CAPABILITIES).withMaxTsoHeader(128)
    val qp = pd.queuePair(if (extended) plain.asExtended() else plain)
    qp.maxTsoHeader() shouldBe 128
    return End(qp, cq, memory(16_384, *FULL_ACCESS))
}

private fun End.sendSegmented(
    header: ByteArray,
    payload: Int,
    size: Int,
) {
    mr.put(pattern(payload), PAYLOAD_AT)
    post { sendSegmented(7, header, size).from(mr.slice(PAYLOAD_AT, payload.toLong())).signaled() }
    cq.takeOne().shouldBeDone(7, WorkCompletionOpcode.TSO, qp)
}

/** Returns the bytes of the next receives, each of which has 2000 bytes of the region. */
private fun End.framesOf(count: Int): List<ByteArray> =
    cq.take(count).mapIndexed { i, received ->
        received.isSuccess() shouldBe true
        received.opcode() shouldBe RECV
        mr.bytes(received.byteLength().toInt(), 2000L * i)
    }

private fun ByteArray.copyFrom(start: Int) = copyOfRange(start, size)

/** Checks that the segments are a stream: its bytes, sequence numbers, flags, and the identifications of IPv4. */
private fun List<TcpSegment>.shouldBeStream(
    payload: Int,
    size: Int,
    first: Long,
    flags: Int,
) {
    map { it.payload.size } shouldBe List((payload + size - 1) / size) { minOf(size, payload - it * size) }
    fold(ByteArray(0)) { all, each -> all + each.payload } shouldBe pattern(payload)
    forEachIndexed { i, segment ->
        segment.sequence shouldBe ((first + i.toLong() * size) and 0xffffffffL)
        if (segment.isIpv4) segment.identification shouldBe ((0xffff + i) and 0xffff)
        val cleared = (if (i == lastIndex) 0 else FIN or PUSH) or (if (i == 0) 0 else WINDOW_REDUCED)
        segment.flags shouldBe (flags and cleared.inv())
    }
}
