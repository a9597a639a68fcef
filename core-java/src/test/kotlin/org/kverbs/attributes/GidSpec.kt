package org.kverbs.attributes

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.property.Arb
import io.kotest.property.arbitrary.bind
import io.kotest.property.arbitrary.choice
import io.kotest.property.arbitrary.element
import io.kotest.property.arbitrary.int
import io.kotest.property.arbitrary.list
import io.kotest.property.arbitrary.long
import io.kotest.property.arbitrary.map
import io.kotest.property.checkAll
import java.lang.foreign.Arena
import java.lang.foreign.FunctionDescriptor
import java.lang.foreign.Linker
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.ADDRESS
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.foreign.ValueLayout.JAVA_INT
import java.net.Inet4Address
import java.net.Inet6Address
import java.net.InetAddress

/**
 * Generates GIDs, often with runs of zero groups or an IPv4 address, since these are the special cases of the short
 * text form.
 */
private val gids: Arb<Gid> =
    Arb.choice(
        Arb.bind(Arb.long(), Arb.long()) { prefix, id -> Gid(prefix, id) },
        Arb.list(Arb.element(0, 0, 0, 1, 0xffff, 0x1a0b), 8..8).map { groups ->
            val bytes = groups.flatMap { listOf((it shr 8).toByte(), it.toByte()) }.toByteArray()
            Gid.of(bytes)
        },
        Arb.int().map { Gid(0, (0xffffL shl 32) or Integer.toUnsignedLong(it)) },
        Arb.int().map { Gid(0, Integer.toUnsignedLong(it)) },
    )

private val inetNtop =
    Linker.nativeLinker().let { linker ->
        linker.downcallHandle(
            linker.defaultLookup().findOrThrow("inet_ntop"),
            FunctionDescriptor.of(ADDRESS, JAVA_INT, ADDRESS, ADDRESS, JAVA_INT),
        )
    }

/** Returns the text that the C library makes of the GID. */
private fun inetNtop(gid: Gid): String =
    Arena.ofConfined().use { arena ->
        val af = 10 // AF_INET6 on Linux
        val bytes = arena.allocateFrom(JAVA_BYTE, *gid.bytes())
        val text = arena.allocate(64)
        (inetNtop.invokeWithArguments(af, bytes, text, 64) as MemorySegment).address() shouldBe text.address()
        text.getString(0)
    }

class GidSpec :
    FunSpec({
        test("should come back from its bytes and from each of its texts") {
            checkAll(2000, gids) { gid ->
                Gid.of(gid.bytes()) shouldBe gid
                Gid.parse(gid.toString()) shouldBe gid
                Gid.parse(gid.toCompactString()) shouldBe gid
                Gid.parse(gid.toWire()) shouldBe gid
                Gid.parse(gid.toWire().uppercase()) shouldBe gid
                Gid.of(gid.toInetAddress()) shouldBe gid
            }
        }

        test("should come back from memory, aligned or not, where it stands in network order") {
            checkAll(500, gids, Arb.int(0..23)) { gid, offset ->
                val memory = MemorySegment.ofArray(ByteArray(40))
                gid.writeTo(memory, offset.toLong())
                memory.asSlice(offset.toLong(), 16).toArray(JAVA_BYTE) shouldBe gid.bytes()
                Gid.from(memory, offset.toLong()) shouldBe gid
            }
        }

        test("should write its short form as inet_ntop does") {
            checkAll(2000, gids) { gid -> gid.toCompactString() shouldBe inetNtop(gid) }
        }

        test("should print eight groups of four digits") {
            Gid.parse("::ffff:11.135.60.8").toString() shouldBe "0000:0000:0000:0000:0000:ffff:0b87:3c08"
            Gid.parse("fe80::5054:ff:fe12:3456").toString() shouldBe "fe80:0000:0000:0000:5054:00ff:fe12:3456"
        }

        test("should hold its halves as the numbers that are printed") {
            val gid = Gid.parse("fe80::1:2:3:4")
            gid.subnetPrefix() shouldBe (0xfe80L shl 48)
            gid.interfaceId() shouldBe 0x0001000200030004L
            gid.toWire() shouldBe "fe800000000000000001000200030004"
            gid.bytes().take(2) shouldBe listOf(0xfe.toByte(), 0x80.toByte())
        }

        test("should write the short form of the known corners") {
            val corners =
                listOf("::", "::1", "1::", "fe80::1", "1:0:2::3", "1::2:0:0:3:4", "::ffff:10.0.0.1") +
                    listOf("1:2:3:4:5:6:7:8", "0:1:2:3:4:5:6:7")
            for (text in corners) {
                withClue(text) { Gid.parse(text).toCompactString() shouldBe text }
            }
        }

        test("should take an IPv4 address as the GID that RoCE makes of it") {
            val gid = Gid.parse("10.98.0.1")
            gid shouldBe Gid.parse("::ffff:10.98.0.1")
            gid.isIpv4Mapped shouldBe true
            (gid.toInetAddress() is Inet4Address) shouldBe true
            Gid.of(InetAddress.ofLiteral("10.98.0.1")) shouldBe gid
        }

        test("should take an IPv6 address for itself") {
            val gid = Gid.parse("2001:db8::7")
            gid.isIpv4Mapped shouldBe false
            (gid.toInetAddress() is Inet6Address) shouldBe true
            Gid.parse("::1").isIpv4Mapped shouldBe false
            Gid.parse("::1.2.3.4").isIpv4Mapped shouldBe false
        }

        test("should be zero only if every bit is") {
            Gid(0, 0).isZero shouldBe true
            Gid(0, 1).isZero shouldBe false
            Gid(1, 0).isZero shouldBe false
        }

        test("should refuse text that is no GID, and quote it") {
            val notIpv6 =
                listOf(
                    "fe80::1%eth0",
                    "[::1]",
                    "1:2:3:4:5:6:7",
                    "1:2:3:4:5:6:7:8:9",
                    "1::2::3",
                    "::g",
                    "12345::",
                    ":",
                    ":::",
                )
            val notIpv4 = listOf("10.0.0", "10.0.0.256", "::1.2.3")
            val notHex =
                listOf("", " ", "fe80", "localhost", "fe8000000000000000010002000300", "0".repeat(33), "-1", "1")
            for (text in notIpv6 + notIpv4 + notHex) {
                withClue("\"$text\"") {
                    shouldThrow<IllegalArgumentException> { Gid.parse(text) }.message shouldContain
                        "\"$text\" is not a GID"
                }
            }
        }

        test("should refuse other than 16 bytes") {
            shouldThrow<IllegalArgumentException> { Gid.of(ByteArray(15)) }.message shouldBe
                "a GID has 16 bytes, not 15"
        }
    })
