package org.kverbs.embedded.cm

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.types.shouldBeInstanceOf
import io.kotest.property.Arb
import io.kotest.property.arbitrary.arbitrary
import io.kotest.property.arbitrary.byte
import io.kotest.property.arbitrary.byteArray
import io.kotest.property.arbitrary.constant
import io.kotest.property.arbitrary.int
import io.kotest.property.checkAll
import org.kverbs.embedded.internal.cm.Mad
import org.kverbs.embedded.internal.cm.Message
import org.kverbs.embedded.wire.PcapFile
import kotlin.random.Random

/** Returns the management datagrams of a capture: the UDP packets for queue pair 1. */
internal fun mads(capture: String): List<ByteArray> =
    PcapFile
        .frames(capture)
        .filter { it.length == HEADERS + MAD && it.udpPayload[7].toInt() == 1 }
        .map { it.udpPayload.copyOfRange(HEADERS, HEADERS + MAD) }

private const val HEADERS = 20

private fun Random.bits(count: Int) = nextInt() ushr (Int.SIZE_BITS - count)

private fun Random.ece() = Message.Ece(bits(24), nextInt())

/** Returns a message of each kind with random fields. */
internal fun Random.messages(): List<Message> {
    val path =
        Message.Path(
            nextLong(),
            nextLong(),
            nextLong(),
            nextLong(),
            bits(20),
            bits(6),
            bits(8),
            bits(8),
            bits(5),
        )
    return listOf(
        Message.Req(
            nextInt(),
            nextLong(),
            nextLong(),
            nextInt(),
            bits(24),
            bits(8),
            bits(8),
            bits(5),
            bits(2),
            nextBoolean(),
            bits(24),
            bits(5),
            bits(3),
            bits(16),
            bits(4),
            bits(3),
            bits(4),
            nextBoolean(),
            path,
            nextBytes(92),
            ece(),
        ),
        Message.Mra(nextInt(), nextInt(), bits(2), bits(5), nextBytes(222)),
        Message.Rej(nextInt(), nextInt(), bits(2), bits(16), nextBytes(nextInt(73)), nextBytes(148)),
        Message.Rep(
            nextInt(),
            nextInt(),
            nextInt(),
            bits(24),
            bits(24),
            bits(8),
            bits(8),
            bits(5),
            bits(2),
            nextBoolean(),
            bits(3),
            nextBoolean(),
            nextLong(),
            nextBytes(196),
            ece(),
        ),
        Message.Rtu(nextInt(), nextInt(), nextBytes(224)),
        Message.Dreq(nextInt(), nextInt(), bits(24), nextBytes(220)),
        Message.Drep(nextInt(), nextInt(), nextBytes(224)),
        Message.SidrReq(nextInt(), bits(16), nextLong(), nextBytes(216)),
        Message.SidrRep(nextInt(), bits(8), bits(24), nextLong(), nextInt(), nextBytes(nextInt(73)), nextBytes(136)),
        Message.Lap(nextInt(), nextInt()),
        Message.Apr(nextInt(), nextInt(), bits(8)),
    )
}

class MadSpec :
    FunSpec({
        test("should read the messages of Linux's connection manager, and write them to the same bytes") {
            val captures =
                mapOf(
                    "rping" to listOf("Req", "Rep", "Rtu", "Dreq", "Drep"),
                    "rejected" to listOf("Req", "Rej"),
                    "udaddy" to listOf("SidrReq", "SidrRep"),
                )
            for ((capture, kinds) in captures) {
                val mads = mads(capture)
                mads.map { Mad.decode(it).shouldNotBeNull().message()::class.simpleName } shouldBe kinds
                mads.forEach { Mad.decode(it)!!.encode() shouldBe it }
            }
        }

        test("should decode a REQ of Linux as tshark does") {
            val req = Mad.decode(mads("rping").first())!!.message().shouldBeInstanceOf<Message.Req>()
            req.service() shouldBe 0x0000_0000_0106_1c06
            req.caGuid() shouldBe 0x0000_00ff_fe00_0002
            (req.qpn() to req.psn()) shouldBe (0x19 to 0x1d2e62)
            (req.responderResources() to req.initiatorDepth()) shouldBe (1 to 1)
            (req.remoteTimeout() to req.localTimeout()) shouldBe (0x14 to 0x14)
            listOf(
                req.retryCount(),
                req.rnrRetry(),
                req.maxCmRetries(),
                req.mtu(),
                req.pkey(),
                req.transport(),
            ) shouldBe
                listOf(7, 7, 15, 5, 0xffff, 0)
            // Except the flow label: tshark 4.0 reads 0x00380 from the bytes 38 0d e0 00, and the rate from the wrong
            // place.
            req.path() shouldBe Message.Path(0, 0xffff_0a62_0002, 0, 0xffff_0a62_0001, 0x380de, 0, 0, 0x40, 0x13)
        }

        test("should read every message that it wrote") {
            checkAll(200, arbitrary { it.random.nextLong() }) { seed ->
                val random = Random(seed)
                random.messages().forEach { message ->
                    val transaction = random.nextLong()
                    val bytes = Mad(transaction, message).encode()
                    val back = Mad.decode(bytes).shouldNotBeNull()
                    withClue(message) {
                        back.transaction() shouldBe transaction
                        back.message()::class shouldBe message::class
                        back.encode() shouldBe bytes
                        fields(back.message()) shouldBe fields(message)
                    }
                }
            }
        }

        test("should decode any 256 bytes to a message or to null, and encode and decode that message to the same") {
            checkAll(2000, Arb.byteArray(Arb.constant(MAD), Arb.byte()), Arb.int(0x0f..0x1d)) { bytes, attribute ->
                byteArrayOf(1, 7, 2, 3).copyInto(bytes)
                bytes[16] = 0
                bytes[17] = attribute.toByte()
                val mad = Mad.decode(bytes)
                if (mad == null) {
                    // The additional rejection information is longer than its room, or no message has that number.
                    val length =
                        if (attribute == 0x12) {
                            (bytes[33].toInt() and 0xff) shr 1
                        } else {
                            bytes[29].toInt() and 0xff
                        }
                    (attribute !in 0x10..0x1a || (attribute in listOf(0x12, 0x18) && length > 72)) shouldBe true
                } else {
                    fields(Mad.decode(mad.encode())!!.message()) shouldBe fields(mad.message())
                }
            }
        }

        test("should decode nothing of another length, class or version") {
            val good = Mad(1, Message.Rtu(1, 2, ByteArray(0))).encode()
            Mad.decode(good).shouldNotBeNull()
            Mad.decode(good.copyOf(255)) shouldBe null
            Mad.decode(good.copyOf(257)) shouldBe null
            for (byte in 0..3) {
                Mad.decode(good.copyOf().also { it[byte]++ }) shouldBe null
            }
        }
    })

/** Returns the components of a record, with arrays as lists. */
private fun fields(message: Message): List<Any?> =
    message.javaClass.recordComponents.map { component ->
        component.accessor
            .also { it.isAccessible = true }
            .invoke(message)
            .let { if (it is ByteArray) it.toList() else it }
    }
