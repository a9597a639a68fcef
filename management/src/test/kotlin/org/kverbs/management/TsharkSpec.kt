package org.kverbs.management

import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import org.kverbs.attributes.Gid
import org.kverbs.management.structures.BTH
import org.kverbs.management.structures.DETH
import org.kverbs.management.structures.LRH
import org.kverbs.management.structures.structureTypes
import org.kverbs.structures.Coded
import org.kverbs.structures.FieldKind
import org.kverbs.structures.Guid
import org.kverbs.structures.Lid
import org.kverbs.structures.NamedNumber
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureType
import java.math.BigInteger
import java.nio.ByteBuffer
import kotlin.io.path.writeBytes
import kotlin.random.Random

private const val MAD_BYTES = 256
private const val RECORDS = 197
private const val INFINIBAND: Byte = 21

/** A datagram that is captured: its class and attribute, and where which structure lies in it. */
private class Sample(
    val name: String,
    val mgmtClass: Int,
    val version: Int,
    val method: Int,
    val attribute: Int,
    parts: Map<Int, String>,
) {
    val parts: Map<Int, StructureType<*>> = parts.mapValues { (_, name) -> structureTypes.single { it.name == name } }
}

private fun smp(
    attribute: Int,
    structure: String,
) = Sample(structure, 0x01, 1, 0x81, attribute, mapOf(0 to "SMPFormat", 64 to structure))

private fun sa(
    attribute: Int,
    structure: String,
) = Sample(structure, 0x03, 2, 0x81, attribute, mapOf(0 to "SAFormat", 56 to structure))

private fun gmp(
    mgmtClass: Int,
    attribute: Int,
    structure: String,
    at: Int = 64,
) = Sample(
    structure,
    mgmtClass,
    if (mgmtClass ==
        7
    ) {
        2
    } else {
        1
    },
    if (mgmtClass == 7) 3 else 0x81,
    attribute,
    mapOf(0 to "MADHeader", at to structure),
)

private val samples =
    listOf(
        smp(0x11, "NodeInfo"),
        smp(0x12, "SwitchInfo"),
        smp(0x15, "PortInfo"),
        smp(0x20, "SMInfo"),
        Sample("directed", 0x81, 1, 0x01, 0x11, mapOf(0 to "MADHeaderDirected", 64 to "NodeInfo")),
        sa(0x35, "PathRecord"),
        sa(0x38, "MCMemberRecord"),
        gmp(0x04, 0x12, "PortCounters"),
        gmp(0x04, 0x1d, "PortCountersExtended"),
        gmp(0x04, 0x01, "ClassPortInfo"),
        gmp(0x07, 0x10, "REQ", 24),
        gmp(0x07, 0x12, "REJ", 24),
        gmp(0x07, 0x13, "REP", 24),
        gmp(0x07, 0x14, "RTU", 24),
        gmp(0x07, 0x15, "DREQ", 24),
        gmp(0x07, 0x16, "DREP", 24),
    )

private fun mad(
    sample: Sample,
    random: Random,
): ByteArray {
    val bytes = ByteArray(MAD_BYTES)
    for ((at, type) in sample.parts.filterKeys { it > 0 }) {
        randomBytes(type, random).copyInto(
            bytes,
            at,
            0,
            minOf(
                type.byteSize,
                MAD_BYTES - at,
            ),
        )
    }
    val header = sample.parts.getValue(0).at(bytes)
    val prefix = if (header.description.fields.first().name == "madHeader") "madHeader." else ""
    header[prefix + "baseVersion"] = 1
    header[prefix + "mgmtClass"] = sample.mgmtClass
    header[prefix + "classVersion"] = sample.version
    header[prefix + "method"] = sample.method
    header[prefix + "transactionID"] = random.nextLong()
    header[prefix + "attributeID"] = sample.attribute
    header[prefix + "attributeModifier"] = random.nextInt().toUInt()
    // A service of no known protocol: tshark would read the private data by it.
    if (sample.name == "REQ") bytes.fill(0x55, 32, 40)
    return bytes
}

/** The packet that carries a datagram: local route header, base and datagram headers, checksums that nobody checks. */
private fun packet(
    mad: ByteArray,
    isSubnetManagement: Boolean,
): ByteArray {
    val queue = if (isSubnetManagement) 0 else 1
    val lrh =
        LRH {
            vl = if (isSubnetManagement) 15 else 0
            lnh = org.kverbs.management.structures.LNH.IBA_LOCAL
            dlid = Lid(2)
            slid = Lid(1)
            pktLen = (8 + 12 + 8 + MAD_BYTES + 4) / 4
        }
    val bth =
        BTH {
            opCode = 0x64
            pKey = 0xffff
            destQP = queue
        }
    val deth =
        DETH {
            qKey = if (isSubnetManagement) 0 else 0x80010000
            srcQP = queue
        }
    return lrh.bytes() + bth.bytes() + deth.bytes() + mad + ByteArray(6)
}

/** A capture of records as Endace's cards write them: tshark reads InfiniBand's own link type in them alone. */
private fun pcap(packets: List<ByteArray>): ByteArray {
    val buffer = ByteBuffer.allocate(24 + packets.sumOf { it.size + 32 })
    buffer.putInt(0xa1b2c3d4.toInt()).putShort(2).putShort(4).putInt(0).putInt(0).putInt(65535).putInt(RECORDS)
    packets.forEachIndexed { i, packet ->
        val length = packet.size + 16
        buffer.putInt(i).putInt(0).putInt(length).putInt(length)
        buffer.putLong(0).put(INFINIBAND).put(0)
        buffer.putShort(length.toShort()).putShort(0).putShort(packet.size.toShort()).put(packet)
    }
    return buffer.array()
}

/** tshark 4.0 takes other bits of these words than the kernel's layout of the message has. */
private val tsharkFaults =
    listOf("primaryFlowLabel", "primaryPacketRate", "alternateFlowLabel", "alternatePacketRate").map { "REQ.$it" }

/** What tshark prints of a field, as a number. */
private fun number(text: String): BigInteger? =
    when {
        text == "True" -> {
            BigInteger.ONE
        }

        text == "False" -> {
            BigInteger.ZERO
        }

        text.startsWith("0x") -> {
            BigInteger(text.drop(2), 16)
        }

        text.count {
            it == ':'
        } >= 2 -> {
            runCatching {
                BigInteger(
                    1,
                    Gid.parse(text).bytes(),
                )
            }.getOrElse { BigInteger(text.replace(":", ""), 16) }
        }

        else -> {
            text.toBigIntegerOrNull() ?: text.replace(":", "").toBigIntegerOrNull(16)
        }
    }

private fun number(value: Any): BigInteger =
    when (value) {
        is Long -> BigInteger(value.toULong().toString())
        is NamedNumber -> value.number.toBigInteger()
        is Coded -> value.code.toBigInteger()
        is Lid -> value.value.toBigInteger()
        is Guid -> BigInteger(value.value.toULong().toString())
        is Gid -> BigInteger(1, value.bytes())
        is ByteArray -> BigInteger(1, value)
        else -> error("no number: $value")
    }

class TsharkSpec :
    FunSpec({
        test("should be decoded by tshark to the same values: SMPs, SA, performance and connection management")
            .config(enabledOrReasonIf = { tshark.presentOrSkipped }) {
                tshark.require()
                val random = Random(4096)
                val rounds = samples.flatMap { sample -> List(8) { sample to mad(sample, random) } }
                val file = tempdir().toPath().resolve("mads.pcap")
                file.writeBytes(pcap(rounds.map { (sample, mad) -> packet(mad, sample.mgmtClass and 0x7f == 1) }))
                val fields = table("tshark-fields.tsv")
                val names = fields.map { it.getValue("tshark") }.distinct()
                val command =
                    listOf("tshark", "-r", "$file", "-T", "fields", "-E", "separator=|", "-E", "occurrence=f") +
                        names.flatMap { listOf("-e", it) }
                val lines = run(command).trimEnd('\n').lines()
                lines.size shouldBe rounds.size

                val faults = mutableSetOf<String>()
                val seen = mutableSetOf<String>()
                for ((line, round) in lines.zip(rounds)) {
                    val (sample, mad) = round
                    val values = names.zip(line.split('|')).toMap()
                    for (row in fields.filter { it["structure"] in sample.parts.values.map { type -> type.name } }) {
                        val at = sample.parts.entries.first { it.value.name == row["structure"] }
                        val structure: Structure = at.value.at(mad.copyOf(at.key + at.value.byteSize), at.key)
                        val path = row.getValue("field")
                        val kind = structure[path]
                        check(structure.description.fields.none { it.name == path && it.kind == FieldKind.STRUCTURE })
                        val said = values.getValue(row.getValue("tshark"))
                        val key = "${sample.name}: ${row["structure"]}.$path"
                        if (said.isEmpty()) {
                            faults += "$key: tshark does not show ${row["tshark"]}"
                        } else {
                            seen += "${row["structure"]}.$path"
                            val isKnown = "${row["structure"]}.$path" in tsharkFaults
                            if (!isKnown && number(said) != number(kind)) faults += "$key is $kind, tshark says $said"
                        }
                    }
                }
                faults.sorted().joinToString("\n") shouldBe ""
                seen.size shouldBeGreaterThan 200
            }
    })
