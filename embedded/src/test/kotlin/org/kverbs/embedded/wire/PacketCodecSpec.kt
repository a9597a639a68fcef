package org.kverbs.embedded.wire

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeInRange
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.property.RandomSource
import io.kotest.property.checkAll
import org.kverbs.embedded.internal.wire.Opcode
import org.kverbs.embedded.internal.wire.Packet
import org.kverbs.embedded.internal.wire.PacketCodec
import java.util.HexFormat
import kotlin.random.Random

private fun decodes(bytes: ByteArray): Boolean = PacketCodec.decode(Packet(0), Buffer().put(bytes).address, bytes.size)

/** Decodes bytes and checks that a decoded packet stays within [length] bytes and can be encoded again. */
private fun decodeWithCare(
    packet: Packet,
    buffer: Buffer,
    length: Int,
): Boolean {
    if (!PacketCodec.decode(packet, buffer.address, length)) return false
    packet.payloadLength shouldBeInRange 0..PacketCodec.MAX_PAYLOAD
    check(packet.payload >= buffer.address && packet.payload + packet.payloadLength <= buffer.address + length)
    packet.encoded().size shouldBe length
    return true
}

class PacketCodecSpec :
    FunSpec({
        knownOpcodes.forEach { opcode ->
            test("should read what it wrote: opcode 0x%02x".format(opcode)) {
                val buffer = Buffer()
                val decoded = Packet(0)
                checkAll(200, packets(listOf(opcode))) { packet ->
                    val length = PacketCodec.encode(packet, buffer.address)
                    length shouldBe Opcode.headerLength(opcode) + (packet.payloadLength + 3 and 3.inv())
                    PacketCodec.decode(decoded, buffer.address, length) shouldBe true
                    decoded.wireFields() shouldBe packet.wireFields()
                }
            }
        }

        test("should lay out the headers as IBA volume 1 does") {
            val hex = HexFormat.of()
            val packet = Packet(0)
            packet.opcode = Opcode.RC_WRITE_ONLY_IMMEDIATE
            packet.solicited = true
            packet.ackRequest = true
            packet.pkey = 0xffff
            packet.destinationQp = 0x123456
            packet.psn = 0xabcdef
            packet.remoteAddress = 0x0102030405060708
            packet.rkey = 0x11121314
            packet.dmaLength = 1
            packet.immediate = 0x21222324
            packet.payload = Buffer().put(byteArrayOf(0x55)).address
            packet.payloadLength = 1
            hex.formatHex(packet.encoded()) shouldBe
                "0bb0ffff" + "00123456" + "80abcdef" + "0102030405060708" + "11121314" + "00000001" + "21222324" +
                "55000000"
        }

        test("should place the XRCETH before the RETH and the AtomicETH, and only into requests") {
            val hex = HexFormat.of()
            val packet = Packet(0)
            packet.pkey = 0xffff
            packet.destinationQp = 0x123456
            packet.psn = 0xabcdef
            packet.sharedQueue = 0x313233
            packet.remoteAddress = 0x0102030405060708
            packet.rkey = 0x11121314
            packet.dmaLength = 1
            packet.swapOrAdd = 7
            packet.syndrome = 0x1f
            packet.opcode = Opcode.XRC or Opcode.RC_READ_REQUEST
            hex.formatHex(packet.encoded()) shouldBe
                "ac00ffff" + "00123456" + "00abcdef" + "00313233" + "0102030405060708" + "11121314" + "00000001"
            packet.opcode = Opcode.XRC or Opcode.RC_FETCH_ADD
            hex.formatHex(packet.encoded()) shouldBe
                "b400ffff" + "00123456" + "00abcdef" + "00313233" + "0102030405060708" + "11121314" +
                "0000000000000007" + "0000000000000000"
            packet.opcode = Opcode.XRC or Opcode.RC_ACK
            hex.formatHex(packet.encoded()) shouldBe "b100ffff" + "00123456" + "00abcdef" + "1f000000"
        }

        // Soft-RoCE of Linux 6.2 lays them out so: FETH before RETH; the placement type in bits 0 to 3, the level in 4 and 5.
        test("should lay out a flush and an atomic write as annex A19 does") {
            val hex = HexFormat.of()
            val packet = Packet(0)
            packet.opcode = Opcode.RC_FLUSH
            packet.pkey = 0xffff
            packet.destinationQp = 0x123456
            packet.psn = 0xabcdef
            packet.placement = 0x12
            packet.remoteAddress = 0x0102030405060708
            packet.rkey = 0x11121314
            packet.dmaLength = 0x21222324
            val header = "00ffff" + "00123456" + "00abcdef"
            val reth = "0102030405060708" + "11121314"
            hex.formatHex(packet.encoded()) shouldBe "1c" + header + "00000012" + reth + "21222324"
            packet.opcode = Opcode.RC_ATOMIC_WRITE
            packet.dmaLength = 8
            packet.payload = Buffer().put(byteArrayOf(1, 2, 3, 4, 5, 6, 7, 8)).address
            packet.payloadLength = 8
            hex.formatHex(packet.encoded()) shouldBe "1d" + header + reth + "00000008" + "0102030405060708"
        }

        test("should refuse every truncated packet, and read nothing behind the end") {
            val zeros = Packet(0)
            val ones = Packet(0)
            checkAll(100, packets()) { packet ->
                val bytes = packet.encoded()
                val behindZeros = Buffer()
                val behindOnes = Buffer()
                for (length in 0..minOf(bytes.size, 400)) {
                    val cut = bytes.copyOf(length)
                    val answer = decodeWithCare(zeros, behindZeros.put(cut), length)
                    decodeWithCare(ones, behindOnes.put(cut, -1), length) shouldBe answer
                    if (answer) {
                        ones.wireFields() shouldBe zeros.wireFields()
                    }
                    withClue("$length of ${bytes.size} bytes") {
                        if (length < Opcode.headerLength(packet.opcode) || length % 4 != 0) answer shouldBe false
                    }
                }
            }
        }

        test("should survive 100,000 random changes to packets that Soft-RoCE sent and to some of each opcode") {
            val random = Random(42)
            val captured = PcapFile.names.flatMap(PcapFile::frames).map { it.udpPayload.copyOf(it.length) }
            val made =
                knownOpcodes.flatMap { opcode ->
                    List(4) { packets(listOf(opcode)).sample(RandomSource.seeded(random.nextLong())).value.encoded() }
                }
            val seeds = captured + made
            val packet = Packet(0)
            val buffer = Buffer()
            var good = 0
            repeat(100_000) {
                val bytes = mutate(seeds.random(random), seeds.random(random), random)
                if (decodeWithCare(packet, buffer.put(bytes), bytes.size)) good++
            }
            // If all changes were refused, or all accepted, the test would show nothing.
            good shouldBeInRange 10_000..90_000
        }

        test("should refuse an opcode that it does not know") {
            (0..255).forEach { opcode ->
                // At least as many bytes as the headers of any opcode.
                val bytes = ByteArray(Opcode.headerLength(opcode).coerceAtLeast(60))
                bytes[0] = opcode.toByte()
                val length =
                    if (Opcode.hasPayload(
                            opcode,
                        )
                    ) {
                        bytes.size
                    } else {
                        Opcode.headerLength(opcode).coerceAtLeast(12)
                    }
                decodes(bytes.copyOf(length)) shouldBe Opcode.known(opcode)
            }
        }

        test("should refuse another version of the BTH") {
            val bytes = ByteArray(16).also { it[0] = Opcode.RC_SEND_ONLY.toByte() }
            decodes(bytes) shouldBe true
            (1..15).forEach { version -> decodes(bytes.also { it[1] = version.toByte() }) shouldBe false }
        }

        test("should refuse more pad than payload") {
            val bytes = ByteArray(12).also { it[0] = Opcode.RC_SEND_ONLY.toByte() }
            decodes(bytes) shouldBe true
            (1..3).forEach { pad -> decodes(bytes.also { it[1] = (pad shl 4).toByte() }) shouldBe false }
        }

        test("should refuse more payload than the largest MTU") {
            val opcode = byteArrayOf(Opcode.UD_SEND_ONLY.toByte())
            decodes(opcode.copyOf(20 + 4096)) shouldBe true
            decodes(opcode.copyOf(20 + 4100)) shouldBe false
        }

        test("should refuse a payload behind an acknowledgement, a read request or an atomic one") {
            listOf(
                Opcode.RC_ACK,
                Opcode.RC_ATOMIC_ACK,
                Opcode.RC_READ_REQUEST,
                Opcode.RC_COMPARE_SWAP,
                Opcode.RC_FETCH_ADD,
            ).forEach {
                val bytes = byteArrayOf(it.toByte())
                decodes(bytes.copyOf(Opcode.headerLength(it))) shouldBe true
                decodes(bytes.copyOf(Opcode.headerLength(it) + 4)) shouldBe false
            }
        }

        test("should ignore FECN, BECN and reserved bits") {
            val bytes = ByteArray(12).also { it[0] = Opcode.RC_SEND_ONLY.toByte() }
            bytes[1] = 0x40
            bytes[4] = -1
            bytes[8] = 0x7f
            val packet = Packet(0)
            PacketCodec.decode(packet, Buffer().put(bytes).address, 12) shouldBe true
            packet.ackRequest shouldBe false
            packet.destinationQp shouldBe 0
        }

        test("should encode no packet that it would refuse") {
            val packet = Packet(0)
            packet.opcode = 0x15
            shouldThrow<IllegalArgumentException> { packet.encoded() }.message shouldContain "opcode 0x15"
            packet.opcode = Opcode.RC_ACK
            packet.payloadLength = 4
            shouldThrow<IllegalArgumentException> { packet.encoded() }.message shouldContain "4 bytes of payload"
            packet.opcode = Opcode.RC_SEND_ONLY
            packet.payloadLength = 4097
            shouldThrow<IllegalArgumentException> { packet.encoded() }.message shouldContain "split the message"
        }
    })

/** Flips bits, sets bytes, cuts, appends, or joins the front of one packet to the rest of another. */
private fun mutate(
    seed: ByteArray,
    other: ByteArray,
    random: Random,
): ByteArray {
    val bytes = seed.copyOf()
    return when (random.nextInt(5)) {
        0 -> bytes.also { it[random.nextInt(minOf(it.size, 44))] = random.nextInt().toByte() }
        1 -> bytes.also { repeat(random.nextInt(1, 8)) { _ -> flip(it, random) } }
        2 -> bytes.copyOf(random.nextInt(bytes.size + 1))
        3 -> bytes.copyOf(minOf(bytes.size + 4 * random.nextInt(1, 20), Packet.BUFFER_SIZE))
        else -> bytes.copyOf(random.nextInt(minOf(bytes.size, 44))) + other.drop(random.nextInt(minOf(other.size, 44)))
    }.let { if (it.size > Packet.BUFFER_SIZE) it.copyOf(Packet.BUFFER_SIZE) else it }
}

private fun flip(
    bytes: ByteArray,
    random: Random,
) {
    val at = random.nextInt(minOf(bytes.size, 44))
    bytes[at] = (bytes[at].toInt() xor (1 shl random.nextInt(8))).toByte()
}
