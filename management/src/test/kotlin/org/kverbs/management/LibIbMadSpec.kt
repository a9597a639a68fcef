package org.kverbs.management

import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.collections.shouldContainExactlyInAnyOrder
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import org.kverbs.management.structures.structureTypes
import org.kverbs.structures.Field
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureDescription
import org.kverbs.structures.dotted
import java.nio.file.Path
import kotlin.random.Random

private const val ROUNDS = 40
private const val END = "\u0001"

/**
 * Prints, for each line of a structure's name and its bytes, every field that libibmad has of it: name, bytes, text.
 */
private fun program(rows: List<Map<String, String>>): String {
    val ranges =
        rows.joinToString("\n") { "    {\"${it["structure"]}\", ${it["first"]}, ${it["last"]}, ${it["offset"]}}," }
    return """
        #include <stdio.h>
        #include <string.h>
        #include <infiniband/mad.h>

        static const struct { const char *name; int first, last, offset; } ranges[] = {
        $ranges
        };

        int main(void) {
            static char line[8192], name[128], text[8192];
            static unsigned char bytes[4096], value[4096];
            while (fgets(line, sizeof line, stdin)) {
                int start;
                sscanf(line, "%127s %n", name, &start);
                for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
                    if (strcmp(ranges[r].name, name)) continue;
                    memset(bytes, 0, sizeof bytes);
                    unsigned byte;
                    unsigned char *to = bytes + ranges[r].offset;
                    for (char *in = line + start; sscanf(in, "%2x", &byte) == 1; in += 2) *to++ = byte;
                    for (int f = ranges[r].first; f <= ranges[r].last; f++) {
                        memset(value, 0, sizeof value);
                        mad_decode_field(bytes, f, value);
                        printf("%s\t%s\t", name, mad_field_name(f));
                        for (int i = 0; i < 256; i++) printf("%02x", value[i]);
                        text[0] = 0;
                        mad_dump_val(f, text, sizeof text, value);
                        printf("\t%s\001\n", text);
                    }
                }
                printf("end\001\n");
            }
            return 0;
        }
        """.trimIndent() + "\n"
}

/** What libibmad says of one field. */
private class Decoded(
    val name: String,
    val value: String,
    val text: String,
)

private fun decoded(line: String): Decoded {
    val (_, name, value, text) = line.split('\t', limit = 4)
    return Decoded(name, value, text)
}

/** The fields by the names that libibmad has for them, those of nested structures among them. */
private fun labelled(
    description: StructureDescription,
    base: Int = 0,
): Map<String, Pair<Field, IntRange>> =
    buildMap {
        for (field in description.fields) {
            val first = base + field.offset
            val label = field.label
            if (field.structure != null && !field.isArray) putAll(labelled(checkNotNull(field.structure), first))
            if (label == null) continue
            if ("%d" in label) {
                val inner = field.structure?.fields?.first() ?: field
                repeat(inner.count) { index ->
                    val bit = first + index * inner.width
                    put(label.replace("%d", "$index"), inner to (bit until bit + inner.width))
                }
            } else {
                put(label, field to (first until first + field.bits))
            }
        }
    }

/** The number or the bytes in these bits as libibmad leaves them in memory: numbers little-endian. */
private fun bits(
    structure: Structure,
    bits: IntRange,
): String {
    val bytes = structure.bytes()
    if (bits.count() > Long.SIZE_BITS) return bytes.toHexString(bits.first / 8, (bits.last + 1) / 8)
    var number = 0L
    for (bit in bits) number = number shl 1 or (bytes[bit / 8].toLong() shr (7 - bit % 8) and 1)
    return ByteArray(8) { (number shr (8 * it)).toByte() }.toHexString()
}

/** The text behind a label in the dotted form, further lines that begin with a tab among it. */
private fun texts(dotted: String): Map<String, String> {
    val result = mutableMapOf<String, String>()
    var last = ""
    for (line in dotted.lines()) {
        if (line.startsWith("\t")) {
            result[last] = result.getValue(last) + "\n" + line
        } else if (':' in line) {
            last = line.substringBefore(':')
            result[last] = line.substringAfter(':').dropWhile { it == '.' }
        }
    }
    return result
}

/** libibmad prints characters that act on a terminal as they are. */
private fun unescaped(text: String) =
    Regex("\\\\u([0-9a-f]{4})").replace(text) {
        it.groupValues[1]
            .toInt(16)
            .toChar()
            .toString()
    }

/** Faults of libibmad: the field reads its neighbour. */
private val wrongOffsets =
    setOf("PortCounters.QP1Dropped") +
        listOf("HDRFECModeSupported", "HDRFECModeEnabled", "NDRFECModeSupported", "NDRFECModeEnabled").map {
            "PortInfoExtended.$it"
        }

/** Fields that libibmad has since a later version. */
private val newer = listOf("LinkSpeedExtActive2", "LinkSpeedExtSupported2", "LinkSpeedExtEnabled2")

/** libibmad prints a number by the names of node types, which it is only if the notice is generic. */
private val otherTexts =
    setOf("Notice.NoticeProducerType", "NoticeSMP.NoticeProducerType") +
        // The bytes of the number in the machine's order.
        "VendorOUIFormat.OUI"

/** libibmad has the first element alone. */
private val firstElements = setOf("MultiPathRecord.MultiPathGid")

/** Whether a text is the same but for what is libibmad's own. */
private fun isSame(
    key: String,
    ours: String,
    theirs: String,
): Boolean =
    when {
        // Its texts end a byte before the field does, without a quotation mark.
        theirs.startsWith("'") && !theirs.endsWith("'") -> ours.startsWith(theirs)

        key in firstElements -> ours.startsWith(theirs)

        // It does not know the bit.
        key == "PortInfo.CapMask" -> plain(ours.replace("\n\t\t\t\tIsCableInfoSupported", "")) == plain(theirs)

        // Zero has the name "No change" for OperVLs alone, and none for extended speeds.
        key == "PortInfo.VLCap" && theirs == "?(0)" -> ours == "No change"

        "LinkSpeedExt" in key && theirs == "0" -> ours == "undefined (0)"

        else -> plain(ours) == plain(theirs)
    }

/** Without libibmad's remarks and signs behind a text, which say no more than the number does. */
private fun plain(text: String) =
    text.removeSuffix(" (IBA extension)").replace(Regex("^\\?\\((\\d+)\\)\\?$"), "?($1)").trimEnd('\n')

class LibIbMadSpec :
    FunSpec({
        val rows = table("libibmad-fields.tsv")
        val labels = structureTypes.associate { it.name to labelled(it.description) }

        test("should agree with libibmad on the value and the text of every field that it has")
            .config(enabledOrReasonIf = { libIbMad.presentOrSkipped }) {
                libIbMad.require()
                val program = tempdir().toPath().resolve("decode")
                compile(program(rows), program, "-libmad")
                val random = Random(2011)
                val structures =
                    rows.map { it.getValue("structure") }.distinct().flatMap { name ->
                        val type = structureTypes.single { it.name == name }
                        List(ROUNDS) { round ->
                            // Small numbers, too: they have names more often.
                            val bytes = randomBytes(type, random)
                            type.of(
                                if (round % 2 ==
                                    0
                                ) {
                                    bytes
                                } else {
                                    bytes.map { (it.toInt() and 0x13).toByte() }.toByteArray()
                                },
                            )
                        }
                    }
                val input = structures.joinToString("") { "${it.description.name} ${it.bytes().toHexString()}\n" }
                val blocks = run(listOf("$program"), input).split("end$END\n").dropLast(1)
                blocks.size shouldBe structures.size

                val faults = mutableSetOf<String>()
                val seen = mutableSetOf<String>()
                for ((structure, block) in structures.zip(blocks)) {
                    val name = structure.description.name
                    val texts = texts(structure.dotted())
                    for (line in block.split("$END\n").filter { it.isNotEmpty() }) {
                        val field = decoded(line)
                        val key = "$name.${field.name}"
                        seen += key
                        val range = labels.getValue(name)[field.name]?.second
                        if (range == null) {
                            faults += "$key is not in the structure"
                            continue
                        }
                        if (key in wrongOffsets) continue
                        val value = bits(structure, range)
                        val same = if (key in firstElements) value.take(32) else value
                        if (!field.value.startsWith(same)) {
                            faults += "$key is $same, libibmad has ${field.value.take(same.length)}"
                        }
                        val text = unescaped(texts[field.name].orEmpty())
                        if (field.text.isNotEmpty() && key !in otherTexts && !isSame(key, text, field.text)) {
                            faults += "$key prints $text, libibmad ${field.text}"
                        }
                    }
                }
                faults.sorted().joinToString("\n") shouldBe ""
                seen.size shouldBeGreaterThan 600
                val names = labels.values.flatMap { it.keys }.toSet() - seen.map { it.substringAfter('.') }.toSet()
                names shouldContainExactlyInAnyOrder newer
            }
    })
