package org.kverbs.embedded.wire

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainAll
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import org.kverbs.embedded.internal.wire.Icrc
import org.kverbs.embedded.internal.wire.Opcode
import org.kverbs.embedded.internal.wire.Packet
import org.kverbs.embedded.internal.wire.PacketCodec

private val icrc = Icrc()

/**
 * Tells whether the ICRC behind the payload in the buffer is right, knowing of IPv4's identification only what a socket
 * shows.
 */
internal fun fits(
    frame: Frame,
    buffer: Buffer,
): Boolean =
    if (frame.v4) {
        val source = frame.source.getInt(0)
        icrc.v4Fits(
            source,
            frame.destination.getInt(0),
            frame.sourcePort,
            frame.destinationPort,
            buffer.address,
            frame.length,
            0,
        )
    } else {
        icrc.v6Fits(
            frame.source.getLong(0),
            frame.source.getLong(8),
            frame.destination.getLong(0),
            frame.destination.getLong(8),
            frame.sourcePort,
            frame.destinationPort,
            buffer.address,
            frame.length,
        )
    }

/** Checks packets between two Soft-RoCE devices of the Linux kernel; captures/README.md tells their origin. */
class SoftRoceCaptureSpec :
    FunSpec({
        PcapFile.names.forEach { name ->
            context("the capture $name") {
                val frames = PcapFile.frames(name)

                test("should be decoded, and encoded to the same bytes") {
                    frames.size shouldBeGreaterThan 7
                    val packet = Packet(0)
                    frames.forEachIndexed { index, frame ->
                        withClue("packet $index") {
                            val buffer = Buffer().put(frame.udpPayload)
                            PacketCodec.decode(packet, buffer.address, frame.length) shouldBe true
                            packet.encoded() shouldBe frame.udpPayload.copyOf(frame.length)
                        }
                    }
                }

                test("should have ICRCs that fit, with and without the identification") {
                    frames.forEach { frame ->
                        val buffer = Buffer().put(frame.udpPayload)
                        fits(frame, buffer) shouldBe true
                        if (frame.v4) {
                            Icrc.get(buffer.address + frame.length) shouldBe
                                icrc.ofV4(
                                    frame.source.getInt(0),
                                    frame.destination.getInt(0),
                                    frame.identification,
                                    frame.sourcePort,
                                    frame.destinationPort,
                                    buffer.address,
                                    frame.length,
                                )
                        }
                    }
                }

                test("should detect a flipped bit anywhere except in the byte that routers may change") {
                    frames.take(12).forEach { frame ->
                        for (bit in 0 until frame.udpPayload.size * 8) {
                            val damaged = frame.udpPayload.copyOf()
                            damaged[bit / 8] = (damaged[bit / 8].toInt() xor (1 shl bit % 8)).toByte()
                            withClue("bit $bit") { fits(frame, Buffer.shared.put(damaged)) shouldBe (bit / 8 == 4) }
                        }
                    }
                }
            }
        }

        test("should contain sends, writes, reads and atomics of RC, both of UC, and UD") {
            PcapFile.names.flatMap(PcapFile::frames).map { it.udpPayload[0].toInt() } shouldContainAll
                listOf(
                    Opcode.RC_SEND_FIRST,
                    Opcode.RC_WRITE_FIRST,
                    Opcode.RC_READ_RESPONSE_MIDDLE,
                    Opcode.RC_COMPARE_SWAP,
                    Opcode.RC_FETCH_ADD,
                    Opcode.RC_ATOMIC_ACK,
                    Opcode.UC_SEND_LAST,
                    Opcode.UC_WRITE_LAST,
                    Opcode.UD_SEND_ONLY,
                )
        }
    })
