package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeLessThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.types.shouldBeInstanceOf
import io.kotest.property.Arb
import io.kotest.property.arbitrary.bind
import io.kotest.property.arbitrary.byte
import io.kotest.property.arbitrary.byteArray
import io.kotest.property.arbitrary.constant
import io.kotest.property.arbitrary.element
import io.kotest.property.arbitrary.int
import io.kotest.property.arbitrary.long
import io.kotest.property.arbitrary.map
import io.kotest.property.arbitrary.string
import io.kotest.property.checkAll
import org.kverbs.attributes.Gid
import org.kverbs.attributes.QueuePairEndpoint

/** Tests the forms that peers exchange: the text and the bytes of [RemoteMemory] and [QueuePairEndpoint]. */
class PeerFormsSpec :
    FunSpec({
        val bytes16 = Arb.byteArray(Arb.constant(16), Arb.byte())
        val memories = Arb.bind(Arb.long(), Arb.long(0..Long.MAX_VALUE), Arb.int(), ::RemoteMemory)
        val endpoints =
            Arb.bind(
                Arb.int(0..0xffff),
                bytes16.map { Gid.of(it) },
                Arb.int(0..0xffffff),
                Arb.int(0..0xffffff),
                Arb.element(0, 256, 512, 1024, 2048, 4096),
                Arb.int(),
                ::QueuePairEndpoint,
            )

        test("should read each remote memory as it was written") {
            checkAll(2_000, memories) {
                RemoteMemory.parse(it.toText()) shouldBe it
                RemoteMemory.of(it.toBytes()) shouldBe it
                it.toBytes().size shouldBe RemoteMemory.BYTES
            }
            RemoteMemory(-1, Long.MAX_VALUE, -1).let { RemoteMemory.parse(it.toText()) shouldBe it }
        }

        test("should read each endpoint as it was written") {
            checkAll(2_000, endpoints) {
                QueuePairEndpoint.parse(it.toText()) shouldBe it
                QueuePairEndpoint.of(it.toBytes()) shouldBe it
                it.toBytes().size shouldBe QueuePairEndpoint.BYTES
            }
        }

        test("should write both forms as documented") {
            val memory = RemoteMemory(0x1234, 77, 0xabcdef01.toInt())
            memory.toText() shouldBe "mem:1234:77:abcdef01"
            hex(memory.toBytes()) shouldBe "0000000000001234" + "000000000000004d" + "abcdef01"
            val endpoint = QueuePairEndpoint(0x12, Gid.parse("fe80::1"), 0x345678, 0x9abcde, 1024, 0x11111111)
            endpoint.toText() shouldBe "qp:0012:345678:9abcde:fe800000000000000000000000000001:1024:11111111"
            hex(endpoint.toBytes()) shouldBe
                "0012" + "0400" + "00345678" + "009abcde" + "11111111" + "fe800000000000000000000000000001"
        }

        test("should refuse any other text, whatever a peer sends, with a message that stays short") {
            val mutations =
                Arb.bind(
                    Arb.element("mem:1234:77:abcdef01", ENDPOINT),
                    Arb.int(0..80),
                    Arb.string(0..3),
                ) { text, at, piece ->
                    val place = at.coerceAtMost(text.length)
                    text.substring(0, place) + piece + text.drop(place + 1)
                }
            checkAll(3_000, mutations) { text ->
                refusedOr({ RemoteMemory.parse(text) }) { RemoteMemory.parse(it.toText()) shouldBe it }
                refusedOr({ QueuePairEndpoint.parse(text) }) { QueuePairEndpoint.parse(it.toText()) shouldBe it }
            }
            checkAll(500, Arb.string(0..300)) { text ->
                shouldThrow<IllegalArgumentException> { RemoteMemory.parse(text) }.message!!.length shouldBeLessThan 200
                shouldThrow<IllegalArgumentException> {
                    QueuePairEndpoint.parse(
                        text,
                    )
                }.message!!.length shouldBeLessThan
                    220
            }
            listOf(
                "mem:0:9223372036854775808:0", // a length of 2^63
                "mem:0:-1:0",
                "mem:10000000000000000:1:1",
                "mem:1:1:100000000",
                "mem:1:1:1\n",
                "mem:+1:1:1",
                "MEM:1:1:1",
                "mem:1:\u0661:1", // an Arabic digit
            ).forEach { text -> withClue(text) { shouldThrow<IllegalArgumentException> { RemoteMemory.parse(text) } } }
            listOf(
                ENDPOINT.replace("1024", "1000"),
                ENDPOINT.replace("1024", "99999"),
                "$ENDPOINT ",
                ENDPOINT.uppercase(),
            ).forEach {
                withClue(it) { shouldThrow<IllegalArgumentException> { QueuePairEndpoint.parse(it) } }
            }
        }

        test("should refuse bytes of another length or out of range") {
            checkAll(1_000, Arb.byteArray(Arb.int(0..64), Arb.byte())) { bytes ->
                refusedOr({ RemoteMemory.of(bytes) }) { it.toBytes().toList() shouldBe bytes.toList() }
                refusedOr({ QueuePairEndpoint.of(bytes) }) { it.toBytes().toList() shouldBe bytes.toList() }
            }
            checkAll(1_000, Arb.byteArray(Arb.constant(QueuePairEndpoint.BYTES), Arb.byte())) { bytes ->
                refusedOr({ QueuePairEndpoint.of(bytes) }) { it.toBytes().toList() shouldBe bytes.toList() }
            }
            shouldThrow<IllegalArgumentException> { RemoteMemory.of(ByteArray(RemoteMemory.BYTES) { -1 }) }
        }

        test("should give parts of a remote memory, and none beyond its end") {
            checkAll(1_000, memories, Arb.long(), Arb.long()) { memory, offset, length ->
                val inside = offset >= 0 && length >= 0 && offset <= memory.length() - length
                val part = runCatching { memory.slice(offset, length) }
                if (inside) {
                    part.getOrThrow() shouldBe RemoteMemory(memory.address() + offset, length, memory.rkey())
                } else {
                    part.exceptionOrNull().shouldBeInstanceOf<IndexOutOfBoundsException>()
                }
            }
            val memory = RemoteMemory(1000, 100, 7)
            refusalOf { memory.at(5000) } shouldBe "offset 5000 is outside the remote memory of 100 bytes"
            refusalOf { memory.at(-1) } shouldBe "offset -1 is outside the remote memory of 100 bytes"
            refusalOf { memory.slice(60, 41) } shouldBe
                "41 bytes at offset 60 reach beyond the remote memory of 100 bytes"
            refusalOf { memory.slice(60, -1) } shouldBe "length -1 of a part of the remote memory is below zero"
            memory.at(100) shouldBe RemoteMemory(1100, 0, 7)
            memory.addressAt(60, 40) shouldBe 1060
            refusalOf { memory.addressAt(60, 41) } shouldBe
                "41 bytes at offset 60 reach beyond the remote memory of 100 bytes"
            memory.at(30).slice(20, 50) shouldBe RemoteMemory(1050, 50, 7)
            listOf(
                -1L,
                101L,
                Long.MIN_VALUE,
                Long.MAX_VALUE,
            ).forEach { shouldThrow<IndexOutOfBoundsException> { memory.at(it) } }
        }
    })

private const val ENDPOINT = "qp:0012:345678:9abcde:fe800000000000000000000000000001:1024:11111111"

private fun refusalOf(part: () -> Unit) = shouldThrow<IndexOutOfBoundsException> { part() }.message

private fun hex(bytes: ByteArray) = bytes.joinToString("") { "%02x".format(it) }

/** Checks a result, or that it was refused as an argument. Any other exception fails the test. */
private fun <T> refusedOr(
    parse: () -> T,
    check: (T) -> Unit,
) = runCatching(parse).fold(check) { it.shouldBeInstanceOf<IllegalArgumentException>() }
