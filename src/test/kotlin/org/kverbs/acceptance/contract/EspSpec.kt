package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.EspFlowAction
import org.kverbs.RdmaSystemException
import org.kverbs.WorkCompletionOpcode.SEND
import org.kverbs.acceptance.contract.Capability.ESP_FLOW_ACTION
import org.kverbs.attributes.AesGcmKey
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.EspAttributes
import org.kverbs.attributes.QueuePairType.RAW_PACKET
import org.kverbs.dsl.esp
import org.kverbs.dsl.flow
import java.nio.ByteBuffer
import javax.crypto.Cipher
import javax.crypto.spec.GCMParameterSpec
import javax.crypto.spec.SecretKeySpec

private const val MINE = "02:00:00:00:00:01"
private const val SPI = 0x1234
private const val UDP = 17
private const val ESP = 50
private val secret = ByteArray(16) { (it * 7).toByte() }
private val salt = byteArrayOf(9, 8, 7, 6)

/** Checks actions of flow rules that decrypt. The packets are sealed here as RFC 4303 and RFC 4106 say. */
internal class EspSpec :
    ContractSpec({
        case("should decrypt what a rule with an action takes, and drop what was changed on the way", ESP_FLOW_ACTION) {
            val (sender, receiver) = espEnds()
            val action = context.espFlowAction(decrypting())
            receiver.rule(action)
            val datagram = udp(53, pattern(100))
            sender.shouldReach(receiver, ethernet(MINE, 0x0800, sealed(datagram, 1)), plain(datagram))
            for (length in listOf(0, 1, 15, 16, 17, 1000)) {
                val payload = udp(53, pattern(length))
                sender.shouldReach(
                    receiver,
                    ethernet(MINE, 0x0800, sealed(payload, 2 + length.toLong())),
                    plain(payload),
                )
            }
            val good = ethernet(MINE, 0x0800, sealed(datagram, 2000))
            for (at in listOf(34, 38, 42, 50, 60, good.size - 1)) { // SPI, number, vector, bytes, check value
                val changed = good.copyOf().also { it[at] = (it[at].toInt() xor 1).toByte() }
                withClue("byte $at") { sender.shouldNotReach(receiver, changed) }
            }
            for (length in 34 until good.size) {
                withClue("$length bytes") { sender.shouldNotReach(receiver, good.copyOf(length)) }
            }
            sender.shouldReach(receiver, good + ByteArray(7), plain(datagram)) // padding of Ethernet
        }

        case("should drop a replayed packet, and take late ones within the window once", ESP_FLOW_ACTION) {
            val (sender, receiver) = espEnds()
            receiver.rule(context.espFlowAction(decrypting(start = 100).withLimits(0, 0, 64)))
            for ((number, passes) in listOf(
                99L to false,
                100L to true,
                100L to false,
                170L to true,
                106L to false,
                107L to true,
                107L to false,
                169L to true,
                170L to false,
                5000L to true,
                170L to false,
                4937L to true,
                4936L to false,
                5000L + (1L shl 31) + 1 to false,
            )) {
                val frame = ethernet(MINE, 0x0800, sealed(udp(53), number))
                withClue("packet $number") {
                    if (passes) {
                        sender.shouldReach(
                            receiver,
                            frame,
                            plain(udp(53)),
                        )
                    } else {
                        sender.shouldNotReach(receiver, frame)
                    }
                }
            }
            // a forged packet does not move the window
            val forged =
                ethernet(MINE, 0x0800, sealed(udp(53), 9000)).also {
                    it[it.size - 1] =
                        (it.last().toInt() xor 1).toByte()
                }
            sender.shouldNotReach(receiver, forged)
            sender.shouldReach(receiver, ethernet(MINE, 0x0800, sealed(udp(53), 4990)), plain(udp(53)))
        }

        case("should give a packet to each of two rules with one action, as one packet", ESP_FLOW_ACTION) {
            val (sender, receiver) = espEnds()
            val (_, other) = espEnds()
            val action = context.espFlowAction(decrypting().withLimits(0, 1, 64))
            receiver.rule(action)
            other.rule(action)
            sender.transmit(ethernet(MINE, 0x0800, sealed(udp(53), 3)))
            for (end in listOf(receiver, other)) {
                end.mr.bytes(end.cq.takeOne().byteLength().toInt()) shouldBe plain(udp(53))
            }
        }

        case("should carry an extended sequence number over the end of its lower half", ESP_FLOW_ACTION) {
            val (sender, receiver) = espEnds()
            val attributes = decrypting(start = -2).withLimits(0, 0, 32).withEsn(6, false)
            receiver.rule(context.espFlowAction(attributes))
            for (number in listOf(0x6_ffff_fffeL, 0x7_0000_0001L, 0x6_ffff_ffffL, 0x7_0000_0000L, 0x7_0000_0021L)) {
                val frame = ethernet(MINE, 0x0800, sealed(udp(53), number, isExtended = true))
                withClue("packet $number") { sender.shouldReach(receiver, frame, plain(udp(53))) }
                withClue("packet $number again") { sender.shouldNotReach(receiver, frame) }
            }
            sender.shouldNotReach(receiver, ethernet(MINE, 0x0800, sealed(udp(53), 0x6_0000_0022L, isExtended = true)))
        }

        case("should stop at the limit of packets, and begin again with new parameters", ESP_FLOW_ACTION) {
            val (sender, receiver) = espEnds()
            val action = context.espFlowAction(decrypting().withLimits(0, 2, 0))
            receiver.rule(action)
            repeat(2) { sender.shouldReach(receiver, ethernet(MINE, 0x0800, sealed(udp(53), 5)), plain(udp(53))) }
            sender.shouldNotReach(receiver, ethernet(MINE, 0x0800, sealed(udp(53), 6)))
            action.modify(decrypting(start = 7))
            sender.shouldReach(receiver, ethernet(MINE, 0x0800, sealed(udp(53), 7)), plain(udp(53)))
            refusalOf("EOPNOTSUPP") { action.modify(EspAttributes.decrypting(key())) } shouldContain "full offload"
            sender.shouldReach(receiver, ethernet(MINE, 0x0800, sealed(udp(53), 8)), plain(udp(53)))
        }

        case("should refuse what it does not decrypt, and close rules before their action", ESP_FLOW_ACTION) {
            val (_, receiver) = espEnds()
            val refused =
                listOf(
                    EspAttributes.decrypting(key()),
                    EspAttributes.encrypting(key()).inTransportMode().fullOffload(1, 0),
                    EspAttributes.decrypting(key()).fullOffload(1, 0),
                    decrypting().withLimits(1, 0, 0),
                    EspAttributes.decrypting(key().withIcvLength(8)).inTransportMode().fullOffload(1, 0),
                )
            for (attributes in refused) {
                val refusal = shouldThrow<RdmaSystemException> { context.espFlowAction(attributes) }
                refusal.errnoName() shouldBe "EOPNOTSUPP"
                refusal.message shouldContain "The embedded device"
            }
            refusalOf("EINVAL") { context.espFlowAction(decrypting().withLimits(0, 0, 1 shl 20)) } shouldContain
                "window"
            val action = context.espFlowAction(decrypting())
            val rules = List(2) { receiver.rule(action, priority = it) }
            rules[0].close()
            action.close()
            rules[1].isOpen shouldBe false
        }
    })

private fun key() = AesGcmKey.of(secret, salt)

private fun decrypting(start: Int = 0) = EspAttributes.decrypting(key()).inTransportMode().fullOffload(SPI, start)

/** Makes a sender, and a receiver with one receive, which stays until a frame arrives. */
private fun Bench.espEnds(): List<End> {
    val ends = List(2) { end(RAW_PACKET).apply { qp.activate(ConnectOptions.DEFAULTS) } }
    ends[1].receive()
    return ends
}

private fun End.receive() = qp.postReceive(1, mr.slice(0, 8_192))

private fun End.rule(
    action: EspFlowAction,
    priority: Int = 0,
) = qp.flow {
    priority(priority)
    esp { spi(SPI) }
    action(action)
}

private fun plain(payload: ByteArray) = ethernet(MINE, 0x0800, checksummed(ipv4("198.51.100.7", UDP, payload)))

/** Returns an IPv4 packet with the checksum of its header. */
private fun checksummed(packet: ByteArray): ByteArray {
    val sum = (0 until 20 step 2).sumOf { ByteBuffer.wrap(packet).getShort(it).toInt() and 0xffff }
    val folded = (sum and 0xffff) + (sum ushr 16)
    return ByteBuffer
        .wrap(
            packet.copyOf(),
        ).putShort(10, ((folded and 0xffff) + (folded ushr 16)).inv().toShort())
        .array()
}

/** Seals an IP payload of UDP as ESP in transport mode. */
private fun sealed(
    payload: ByteArray,
    number: Long,
    isExtended: Boolean = false,
): ByteArray {
    val padding = (4 - (payload.size + 2) % 4) % 4
    val text = payload + ByteArray(padding) { (it + 1).toByte() } + byteArrayOf(padding.toByte(), UDP.toByte())
    val vector = ByteBuffer.allocate(8).putLong(number * 3 + 1).array()
    val cipher = Cipher.getInstance("AES/GCM/NoPadding")
    cipher.init(Cipher.ENCRYPT_MODE, SecretKeySpec(secret, "AES"), GCMParameterSpec(128, salt + vector))
    val authenticated = ByteBuffer.allocate(if (isExtended) 12 else 8).putInt(SPI)
    if (isExtended) authenticated.putInt((number ushr 32).toInt())
    cipher.updateAAD(authenticated.putInt(number.toInt()).array())
    val header = ByteBuffer.allocate(8).putInt(SPI).putInt(number.toInt()).array()
    return ipv4("198.51.100.7", ESP, header + vector + cipher.doFinal(text))
}

private fun End.shouldReach(
    receiver: End,
    frame: ByteArray,
    expected: ByteArray,
) {
    transmit(frame)
    val length = receiver.cq.takeOne().byteLength().toInt()
    receiver.mr.bytes(length) shouldBe expected
    receiver.receive()
}

/** Frames go from memory to memory, so that one that was to arrive is there when it was sent. */
private fun End.shouldNotReach(
    receiver: End,
    frame: ByteArray,
) {
    transmit(frame)
    receiver.cq.poll({ }, 1) shouldBe 0
}
