package org.kverbs.ibtool.decode

import com.github.ajalt.clikt.core.installMordant
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldStartWith
import io.kotest.property.Arb
import io.kotest.property.arbitrary.byte
import io.kotest.property.arbitrary.byteArray
import io.kotest.property.arbitrary.int
import io.kotest.property.checkAll
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.kverbs.console.answer
import org.kverbs.console.screen
import org.kverbs.ibtool.Outcome
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import java.nio.ByteBuffer
import java.util.HexFormat

private const val NODE_INFO = 0x11
private const val NODE_DESCRIPTION = 0x10
private const val DATA = 64

private fun mad(
    attribute: Int,
    data: ByteArray,
): ByteArray {
    val mad = ByteArray(256)
    MADHeader.at(mad).apply {
        baseVersion = 1
        mgmtClass = ManagementClass.SUBN_LID_ROUTED
        classVersion = 1
        method = Method.GET_RESP
        attributeID = attribute
    }
    data.copyInto(mad, DATA)
    return mad
}

class DecodeMadSpec :
    FunSpec({
        val folder = tempdir()
        val node = mad(NODE_INFO, NodeInfo { numPorts = 36 }.bytes())
        val digits = HexFormat.of().formatHex(node)

        fun decoded(
            text: String,
            vararg options: String,
        ): Outcome {
            val file = folder.resolve("datagrams").apply { writeText(text) }
            return Outcome("decode_mad", "$file", *options)
        }

        fun ports(text: String): List<Int> {
            val outcome = decoded(text, "--json")
            withClue("$text\n$outcome") { outcome.status shouldBe 0 }
            return Json.parseToJsonElement("${outcome.out}").jsonArray.map {
                it.jsonObject.getValue("attribute").jsonObject.getValue("numPorts").jsonPrimitive.content.toInt()
            }
        }

        test("should say what a datagram answers, with its header and attribute") {
            val outcome = decoded(digits)
            outcome.status shouldBe 0
            val lines = outcome.out.lines()
            lines.take(2) shouldBe listOf("# line 1", "MAD_METHOD_GET_RESP(129) SMPFormat(1.1) SMPNodeInfo(17)")
            lines shouldContain "NodeInfo"
            "${outcome.out}" shouldContain "numPorts=36"
        }

        test("should read the forms of xxd, hexdump -C, od, and of C arrays") {
            val words = digits.chunked(2)
            val plain = words.chunked(16)
            val xxd =
                digits.chunked(32).mapIndexed { row, it ->
                    "${row.toString(16).padStart(7, '0')}0: ${it.chunked(4).joinToString(" ")}  ................"
                }
            val hexdump =
                plain.mapIndexed { row, it -> "%08x  %s  |....|".format(row * 16, it.joinToString(" ")) } + "00000100"
            val od = plain.mapIndexed { row, it -> "%07o %s".format(row * 16, it.joinToString(" ")) } + "0000400"
            val array = plain.map { row -> row.joinToString(", ", postfix = ",") { "0x$it" } }
            for (form in listOf(xxd, hexdump, od, array, plain.map { it.joinToString(" ") } + "# a comment")) {
                ports(form.joinToString("\n")) shouldBe listOf(36)
                ports(form.joinToString("\r\n", postfix = "\r\n")) shouldBe listOf(36)
            }
        }

        test("should take several datagrams, short ones that an empty line ends among them") {
            val short = digits.take(2 * (DATA + NodeInfo.byteSize))
            ports("$short\n\n$digits$digits\n$digits") shouldBe List(4) { 36 }
        }

        test("should read standard input") {
            val out = StringBuilder()
            val command = DecodeMadCommand(digits.byteInputStream()).apply { installMordant() }
            command.answer(listOf("-"), screen(out, out)) shouldBe 0
            "$out" shouldContain "SMPNodeInfo(17)"
        }

        test("should say in which line what is wrong") {
            fun refused(text: String): String {
                val outcome = decoded(text)
                outcome.status shouldBe 255
                return "${outcome.err}"
            }
            refused("$digits\n01 0g") shouldContain "line 2 has \"0g\""
            refused("01 010") shouldContain "line 1 has \"010\""
            refused("\n01020304") shouldContain "line 2 ends a datagram of 4 bytes; its header alone has 24"
            refused("0".repeat(20_000)) shouldContain "line 1 has more than 10000 characters"
            refused("") shouldContain "has no management datagram"
            refused("00000000  01\n*") shouldContain "line 2 stands for repeated lines"
            Outcome("decode_mad", "$folder").let { "${it.err}" shouldContain "is a folder" }
            Outcome("decode_mad", "$folder/none").let { "${it.err}" shouldContain "none" }
        }

        test("should print no control character of a datagram") {
            val text = mad(NODE_DESCRIPTION, NodeDescription { nodeString = "a\u001b[31mb\u0007\u009b2J" }.bytes())
            val outcome = decoded(HexFormat.of().formatHex(text))
            "${outcome.out}".filter { it.isISOControl() && it != '\n' } shouldBe ""
        }

        test("should decode what --pcap wrote, with the places and addresses of the packets") {
            val pcap = folder.resolve("fabric.pcap")
            Outcome("saquery", "--fabric", "hosts:6", "--pcap", "$pcap").status shouldBe 0
            val outcome = Outcome("decode_mad", "$pcap", "--json")
            val all = Json.parseToJsonElement("${outcome.out}").jsonArray.map { it.jsonObject }
            all.first().getValue("place").jsonPrimitive.content shouldStartWith "packet 1 20"
            all.first().getValue("place").jsonPrimitive.content shouldContain " QP 1 to LID 1 QP 1"
            all.map { it.getValue("attributeName").jsonPrimitive.content }.distinct() shouldContain "NodeRecord"
            Outcome("decode_mad", "$pcap").let { it.status shouldBe 0 }
        }

        test(
            "should find the datagrams of RoCE in Ethernet, over IPv4, over IPv6 and without, and pass over the rest",
        ) {
            val transport = ByteArray(20)
            transport[0] = 0x64
            transport[7] = 1
            transport[19] = 1
            val udp = ByteBuffer.allocate(8).putShort(0).putShort(4791.toShort()).array() + transport + node
            val ip4 = ByteArray(20).also { it[0] = 0x45 }.also { it[9] = 17 } + udp
            val ip6 = ByteArray(40).also { it[0] = 0x60 }.also { it[6] = 17 } + udp
            val addresses = ByteArray(12)

            fun frame(
                type: Int,
                data: ByteArray,
            ) = addresses + ByteBuffer.allocate(2).putShort(type.toShort()).array() + data
            val other = transport.copyOf().also { it[0] = 0x04 } + node
            val frames =
                listOf(
                    frame(0x0800, ip4),
                    frame(0x86dd, ip6),
                    frame(0x8915, ByteArray(40) + transport + node),
                    addresses + byteArrayOf(0x81.toByte(), 0, 0, 5, 0x08, 0) + ip4,
                    frame(0x8915, ByteArray(40) + other),
                    frame(0x0806, ByteArray(40)),
                    ByteArray(3),
                )
            val pcap = folder.resolve("ethernet.pcap")
            pcap.writeBytes(file(1, frames))
            val outcome = Outcome("decode_mad", "$pcap")
            withClue("$outcome") { outcome.status shouldBe 0 }
            Regex("SMPNodeInfo\\(17\\)").findAll(outcome.out).toList() shouldHaveSize 4
            "${outcome.err}" shouldContain "3 packets carry no management datagram"
        }

        test("should say what is wrong with a file of packets") {
            fun refused(bytes: ByteArray): String {
                val pcap = folder.resolve("wrong.pcap").apply { writeBytes(bytes) }
                val outcome = Outcome("decode_mad", "$pcap")
                outcome.status shouldBe 255
                return "${outcome.err}"
            }
            refused(byteArrayOf(0x0a, 0x0d, 0x0d, 0x0a) + ByteArray(60)) shouldContain "tshark -F pcap"
            refused(file(113, emptyList())) shouldContain "link type 113"
            refused(file(1, listOf(ByteArray(60))).copyOf(70)) shouldContain "ends within"
            refused(file(1, emptyList()) + ByteBuffer.allocate(16).putInt(8, -1).array()) shouldContain
                "packet of -1 bytes"
            refused(file(1, emptyList()).copyOf(12)) shouldContain "ends within"
        }

        test("should end with an answer for any bytes at all") {
            checkAll(300, Arb.byteArray(Arb.int(0..700), Arb.byte())) { bytes ->
                val text = folder.resolve("any").apply { writeBytes(bytes) }
                Outcome("decode_mad", "$text").status shouldBe 255
                val packets = folder.resolve("any.pcap").apply { writeBytes(file(197, listOf(bytes, bytes))) }
                Outcome("decode_mad", "$packets").status
            }
        }
    })

/** A pcap file with the high byte first. */
private fun file(
    linkType: Int,
    packets: List<ByteArray>,
): ByteArray {
    val size = 24 + packets.sumOf { 16 + it.size }
    val buffer = ByteBuffer.allocate(size).putInt(0xa1b2c3d4.toInt()).putShort(2).putShort(4).putLong(0)
    buffer.putInt(65_535).putInt(linkType)
    for (packet in packets) buffer.putInt(1).putInt(2).putInt(packet.size).putInt(packet.size).put(packet)
    return buffer.array()
}
