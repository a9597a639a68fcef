package org.kverbs.embedded.wire

import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempfile
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainAll
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.shouldBe
import io.kotest.property.RandomSource
import org.kverbs.embedded.internal.wire.Capture
import org.kverbs.embedded.internal.wire.Opcode
import org.kverbs.embedded.internal.wire.Packet
import java.io.ByteArrayOutputStream
import java.lang.foreign.Arena
import java.lang.foreign.ValueLayout

private const val SECONDS = 1_700_000_000L

/** Makes two packets of each opcode, over IPv4 and IPv6. */
private fun traffic(): List<Packet> {
    val random = RandomSource.seeded(7)
    return (knownOpcodes + knownOpcodes).mapIndexed { index, opcode ->
        packets(listOf(opcode)).sample(random).value.apply {
            trafficClass = 0x20
            hopLimit = 64
            flowLabel = 0x12345
            if (index < knownOpcodes.size) {
                sourceGidLow = 0xffff_0a60_0001
                destinationGidLow = 0xffff_0a60_0002
            } else {
                sourceGidHigh = -0x300_0000_0000_0000 // fd00::
                sourceGidLow = 1
                destinationGidHigh = sourceGidHigh
                destinationGidLow = 2
                sourcePort = 50_000 + index
            }
            // As with Soft-RoCE's numbers: for 0 and 1, which belong to management, tshark looks for MADs in the
            // payload.
            destinationQp = destinationQp or 0x10
        }
    }
}

/** Makes packets of each opcode with a payload, with 0 to 64 bytes of zeros and of numbers. */
private fun shortTraffic(): List<Packet> {
    val bytes = Arena.ofAuto().allocate(128)
    for (at in 64L until 128) bytes.set(ValueLayout.JAVA_BYTE, at, at.toByte())
    val random = RandomSource.seeded(7)
    return knownOpcodes.filter(Opcode::hasPayload).flatMap { opcode ->
        (0..64).flatMap { length ->
            listOf(0, 64).map { from ->
                packets(listOf(opcode)).sample(random).value.apply {
                    sourceGidLow = 0xffff_0a60_0001
                    destinationGidLow = 0xffff_0a60_0002
                    destinationQp = destinationQp or 0x10
                    payload = bytes.address() + from
                    payloadLength = length
                }
            }
        }
    }
}

private fun captured(packets: List<Packet>): ByteArray {
    val file = ByteArrayOutputStream()
    Capture(file).use { capture ->
        packets.forEachIndexed { index, packet -> capture.write(packet, SECONDS * 1_000_000_000 + index) }
    }
    return file.toByteArray()
}

class CaptureSpec :
    FunSpec({
        test("should write frames that hold the packets") {
            val packets = traffic()
            val frames = PcapFile.read(captured(packets))
            frames shouldHaveSize packets.size
            frames.zip(packets) { frame, packet ->
                frame.v4 shouldBe (packet.sourceGidHigh == 0L)
                frame.destinationPort shouldBe 4791
                frame.sourcePort shouldBe if (packet.sourcePort == 0) 0xc000 else packet.sourcePort
                frame.udpPayload.copyOf(frame.length) shouldBe packet.encoded()
            }
        }

        test(
            "should write files that tshark reads without a " +
                "complaint",
        ).config(enabledOrReasonIf = Tshark::presentOrSkipped) {
            Tshark.require()
            val packets = traffic()
            val file = tempfile(suffix = ".pcap")
            file.writeBytes(captured(packets))
            Tshark.complaints(file.path).shouldBeEmpty()
            val opcodes = Tshark.fields(file.path, "infiniband.bth.opcode").map { it.toInt() }
            opcodes shouldBe packets.map { it.opcode }
            val psns = Tshark.fields(file.path, "infiniband.bth.psn").map { it.toInt() }
            psns shouldBe packets.map { it.psn }
            Tshark.fields(file.path, "frame.time_epoch").first() shouldBe "$SECONDS.000000000"
        }

        test(
            "should write short payloads that tshark takes for no other protocol",
        ).config(enabledOrReasonIf = Tshark::presentOrSkipped) {
            Tshark.require()
            val packets = shortTraffic()
            val file = tempfile(suffix = ".pcap")
            file.writeBytes(captured(packets))
            Tshark.complaints(file.path).shouldBeEmpty()
            Tshark.fields(file.path, "infiniband.bth.opcode").map { it.toInt() } shouldBe packets.map { it.opcode }
            Tshark
                .fields(file.path, "frame.protocols")
                .filter {
                    "infiniband:data" !in it && !it.endsWith("infiniband")
                }.shouldBeEmpty()
        }

        test("should make tshark complain about a damaged frame").config(enabledOrReasonIf = Tshark::presentOrSkipped) {
            Tshark.require()
            val bytes = captured(traffic().take(1).onEach { it.opcode = Opcode.RC_SEND_ONLY })
            // The source address of the first frame: no checksum is right any more.
            bytes[24 + 16 + 12]++
            val file = tempfile(suffix = ".pcap")
            file.writeBytes(bytes)
            Tshark.complaints(file.path).map { it.substringBefore(' ') } shouldContainAll listOf("1")
        }
    })
