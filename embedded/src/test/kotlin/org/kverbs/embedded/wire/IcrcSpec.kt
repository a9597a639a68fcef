package org.kverbs.embedded.wire

import com.sun.management.ThreadMXBean
import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeInRange
import io.kotest.matchers.shouldBe
import org.kverbs.embedded.internal.wire.Icrc
import org.kverbs.embedded.internal.wire.Opcode
import org.kverbs.embedded.internal.wire.Packet
import org.kverbs.embedded.internal.wire.PacketCodec
import java.lang.management.ManagementFactory
import java.util.HexFormat
import kotlin.random.Random

private const val SOURCE = 0x0a600001
private const val DESTINATION = 0x0a600002
private const val PORT = 50_000
private const val ROUNDS = 20_000

/** The UDP payload of a flush of 10,000 bytes, with its ICRC: from Soft-RoCE of Linux 6.12 and rdma-core 56. */
private const val SOFT_ROCE_FLUSH = "1c00ffff00954bdb8001b9760000000100007f801f9ff04000ff6ffc0000271002853c63"

class IcrcSpec :
    FunSpec({
        val icrc = Icrc()

        fun of(
            identification: Int,
            buffer: Buffer,
            length: Int,
        ) = icrc.ofV4(SOURCE, DESTINATION, identification, PORT, Icrc.UDP_PORT, buffer.address, length)

        fun fits(
            buffer: Buffer,
            length: Int,
        ) = icrc.v4Fits(SOURCE, DESTINATION, PORT, Icrc.UDP_PORT, buffer.address, length, 0)

        test("should accept each of the 65,536 identifications, at every length") {
            val random = Random(1)
            for (length in 12..Packet.BUFFER_SIZE step 4) {
                val buffer = Buffer.shared.put(random.nextBytes(length))
                val identifications = if (length == 76) 0..0xffff else listOf(0, 1, 0xffff, random.nextInt(0x10000))
                identifications.forEach { identification ->
                    Icrc.put(buffer.address + length, of(identification shl 16 or Icrc.DONT_FRAGMENT, buffer, length))
                    withClue("identification $identification, $length bytes") { fits(buffer, length) shouldBe true }
                }
            }
        }

        test("should accept no more than one of 65,536 wrong ICRCs") {
            val random = Random(2)
            val buffer = Buffer.shared.put(random.nextBytes(76))
            val accepted =
                (1..2_000_000).count {
                    Icrc.put(buffer.address + 76, random.nextInt())
                    fits(buffer, 76)
                }
            // The expected number is 30.5.
            accepted shouldBeInRange 10..60
        }

        test("should refuse another fragment word, address, port or length") {
            val buffer = Buffer.shared.put(Random(3).nextBytes(80))
            Icrc.put(buffer.address + 76, of(0x12340000, buffer, 76))
            fits(buffer, 76) shouldBe false
            Icrc.put(buffer.address + 76, of(0x12344000, buffer, 76))
            fits(buffer, 76) shouldBe true
            fits(buffer, 72) shouldBe false
            icrc.v4Fits(SOURCE + 1, DESTINATION, PORT, Icrc.UDP_PORT, buffer.address, 76, 0) shouldBe false
            icrc.v4Fits(SOURCE, DESTINATION + 1, PORT, Icrc.UDP_PORT, buffer.address, 76, 0) shouldBe false
            icrc.v4Fits(SOURCE, DESTINATION, PORT + 1, Icrc.UDP_PORT, buffer.address, 76, 0) shouldBe false
        }

        test("should accept a flush of Soft-RoCE as it was captured, and not if a byte of it differs") {
            val captured = HexFormat.of().parseHex(SOFT_ROCE_FLUSH)
            for (changed in -1 until captured.size) {
                val bytes = captured.copyOf()
                if (changed >= 0) bytes[changed] = (bytes[changed] + 1).toByte()
                val buffer = Buffer.shared.put(bytes)
                // Byte 4 may change on the way; Soft-RoCE sums it the second time.
                withClue("byte $changed") {
                    icrc.v4Fits(SOURCE, DESTINATION, 53_340, Icrc.UDP_PORT, buffer.address, bytes.size - 4, 0) shouldBe
                        (changed < 0)
                }
            }
        }

        test("should accept a flush that is summed twice over IPv6, and no other packet that is") {
            for (opcode in listOf(Opcode.RC_FLUSH, Opcode.RC_WRITE_ONLY)) {
                val buffer = Buffer.shared.put(byteArrayOf(opcode.toByte()) + Random(4).nextBytes(31))
                icrc.ofV6(1, 2, 3, 4, PORT, Icrc.UDP_PORT, buffer.address, 32)
                Icrc.put(buffer.address + 32, icrc.again(buffer.address, 32))
                icrc.v6Fits(1, 2, 3, 4, PORT, Icrc.UDP_PORT, buffer.address, 32) shouldBe (opcode == Opcode.RC_FLUSH)
            }
        }

        test("should refuse bytes whose length no packet has") {
            listOf(Int.MIN_VALUE, -4, 0, 8, 11, Packet.BUFFER_SIZE + 1, Int.MAX_VALUE).forEach { length ->
                fits(Buffer.shared, length) shouldBe false
                icrc.v6Fits(1, 2, 3, 4, PORT, Icrc.UDP_PORT, Buffer.shared.address, length) shouldBe false
                shouldThrow<IllegalArgumentException> { of(0, Buffer.shared, length) }
            }
        }

        test("should allocate nothing for a packet that is written, summed, checked and read") {
            val threads = ManagementFactory.getThreadMXBean() as ThreadMXBean
            val buffer = Buffer()
            val packet = Packet(0)
            packet.opcode = Opcode.RC_WRITE_ONLY
            packet.payload = Buffer.shared.address
            packet.payloadLength = 1021
            val decoded = Packet(0)

            fun bytesOfOneTurn(): Long {
                val before = threads.currentThreadAllocatedBytes
                repeat(ROUNDS) {
                    val length = PacketCodec.encode(packet, buffer.address)
                    Icrc.put(buffer.address + length, of(0x77774000, buffer, length))
                    check(fits(buffer, length) && PacketCodec.decode(decoded, buffer.address, length))
                    Icrc.put(
                        buffer.address + length,
                        icrc.ofV6(1, 2, 3, 4, PORT, Icrc.UDP_PORT, buffer.address, length),
                    )
                    check(icrc.v6Fits(1, 2, 3, 4, PORT, Icrc.UDP_PORT, buffer.address, length))
                }
                return threads.currentThreadAllocatedBytes - before
            }
            // The first rounds allocate because the JVM links and compiles the code.
            generateSequence(::bytesOfOneTurn).take(200).any { it == 0L } shouldBe true
        }
    })
