package org.kverbs.structures

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldMatch
import io.kotest.property.Arb
import io.kotest.property.arbitrary.int
import io.kotest.property.arbitrary.string
import io.kotest.property.checkAll
import kotlin.random.Random

private fun refused(text: String): String =
    shouldThrow<DescriptionException> {
        Descriptions.parse(text, "x.iba")
    }.message!!

class DescriptionsSpec :
    FunSpec({
        test("should place fields one after the other where no offset is given") {
            val fields =
                Descriptions
                    .parse("structure S {\n lid a\n uint:3 b[4]\n reserved:4\n guid c\n}")
                    .structure("S")
                    .fields
            fields.map { it.name to it.offset } shouldContainExactly
                listOf("a" to 0, "b" to 16, "reserved0" to 28, "c" to 32)
        }

        test("should know structures that are declared further down, or in another file") {
            val parsed =
                Descriptions.parse(
                    mapOf("a" to "structure A {\n B b\n}", "b" to "structure B {\n uint:8 x\n}"),
                )
            parsed.structure("A").bits shouldBe 8
        }

        test("should keep what is said of attributes") {
            val attribute = fans.structure("FanTray").attributes.single()
            attribute.toString() shouldBe "0x0010 of 0x09 version 1: Get, Set"
            attribute.modifier shouldBe "tray"
        }

        test("should take constants that are equal, which an enumeration can't have") {
            fans.constants.single().values["ALSO_FIRST"] shouldBe 1L
            refused("enumeration E {\n A 1\n B 1\n}") shouldBe
                "x.iba:3: E has 1 twice; remove one, or make E constants"
        }

        test("should lead from a choice's number to its structure") {
            fans.choices
                .single()
                .cases
                .mapValues { it.value.name } shouldBe mapOf(1L to "Fan", 2L to "FanTray")
        }

        val wrong =
            mapOf(
                "structure S {\n uint:8 a\n @4 uint:8 b\n}" to
                    "x.iba:3: field b begins at bit 4, but a ends before bit 8; write @8, or leave the offset out",
                "structure S {\n uint:8 a\n @12 uint:4 b\n}" to
                    "x.iba:3: field b begins at bit 12, but a leaves off at bit 8; put reserved:4 before it",
                "structure S {\n uint:7 a\n}" to
                    "x.iba:1: S has 7 bits, no whole bytes; put reserved:1 at its end",
                "structure S 16 {\n uint:8 a\n}" to
                    "x.iba:1: S says 16 bits, but its fields have 8; correct one of the two",
                "structure S {\n uint:65 a\n}" to "x.iba:2: a number has at most 64 bits, not 65; write bytes:65",
                "structure S {\n uint a\n}" to "x.iba:2: say how many bits a has: uint:8",
                "structure S {\n lid:8 a\n}" to "x.iba:2: lid has 16 bits; leave the width out",
                "structure S {\n uint:4 a\n lid b\n}" to
                    "x.iba:3: field b is at bit 4 with 16 bits; only numbers need not fill whole bytes",
                "structure S {\n uint:8 a\n uint:8 a\n}" to "x.iba:3: S has two fields a; rename one",
                "structure S {\n}\nstructure S {\n}" to "x.iba:3: S is declared twice; rename one of the two",
                "structure S {\n S a\n}" to "x.iba:1: S contains itself by S; remove one of these fields",
                "structure A {\n B a\n}\nstructure B {\n A a\n}" to
                    "x.iba:1: A contains itself by A > B; remove one of these fields",
                "structure S {\n uint:8 a[0]\n}" to
                    "x.iba:2: \"0\" is not a number of elements: give a number from 1 to 4096",
                "structure S {\n uint:8 a[99999999999999999999]\n}" to
                    "x.iba:2: \"99999999999999999999\" is not a number of elements: give a number from 1 to 4096",
                "structure S {\n bytes:65536 a[4096]\n}" to "x.iba:2: S is longer than 65536 bits; shorten it",
                "structure S {\n" to "x.iba:1: S has no end: close its brace with } on a line of its own",
                "}" to "x.iba:1: } closes nothing; remove it",
                "structure S" to "x.iba:1: the line ends without a brace; write { behind the name",
                "structure 9 {" to
                    "x.iba:1: \"9\" is no name for the structure: use letters, digits and _, a letter first, " +
                    "at most 80",
                "structure S {\n uint:8 a mask 3-1\n}" to "x.iba:2: \"3-1\" is no range: write it as 3-7",
                "structure S {\n uint:8 a mask 0-2\n}" to
                    "x.iba:2: field a can't take 3 bits of the mask; give it 1 or 2 or 4 or 8",
                "structure S {\n uint:8 a \"no end\n}" to
                    "x.iba:2: a quotation mark is not closed; write \"text\" on one line",
                "structure S {\n attribute 1 of 3 version 1 methods Fetch\n}" to
                    "x.iba:2: \"Fetch\" is no method; the methods are Get, Set, Send, Trap, Report, TrapRepress, " +
                    "GetTable, GetTraceTable, GetMulti, Delete",
                "mask M {\n A 3\n}" to "x.iba:2: A of the mask M has not exactly one bit; write 1, 2, 4 ...",
                "mask M special N {\n}" to "x.iba:1: no enumeration N is declared for special values",
                "choice C {\n 1 S\n}" to "x.iba:2: no structure S is declared",
                "structure S {\n speed:8 a\n}" to
                    "x.iba:2: speed is no kind of field; write uint:8, lid, guid, gid, bytes:64, string:512, " +
                    "reserved:8, or the name of a structure or an enumeration that is declared",
            )
        for ((text, message) in wrong) {
            test("should refuse ${text.replace("\n", " / ")}") { refused(text) shouldBe message }
        }

        test("should refuse a line without an end, and a text without one") {
            refused("#" + "x".repeat(1000)) shouldContain "longer than 500 characters"
            refused("#\n".repeat(3_000_000)) shouldContain "more than 4000000"
        }

        test("should refuse structures that are nested deeper than the stack is sure to hold") {
            val chain =
                (0..999).joinToString("\n") { "structure S$it {\n S${it + 1} a\n}" } +
                    "\nstructure S1000 {\n uint:8 a\n}"
            refused(chain) shouldContain "nested deeper than 16"
        }

        test("should refuse structures that double at each step before they fill the memory") {
            val chain =
                "structure S0 {\n uint:8 a\n}\n" +
                    (1..15).joinToString("\n") { "structure S$it {\n S${it - 1} a[4096]\n}" }
            refused(chain) shouldContain "longer than 65536 bits"
        }

        test("should make of any text a description or an error with a line") {
            checkAll(2_000, Arb.string(0..300)) { text ->
                runCatching { Descriptions.parse(text, "x") }.onFailure {
                    withClue(text) {
                        it.message!! shouldMatch
                            "(?s)x:\\d+: .*"
                    }
                }
            }
        }

        test("should make of any damaged description a description or an error with a line") {
            checkAll(3_000, Arb.int()) { seed ->
                val random = Random(seed)
                val text = StringBuilder(FANS)
                repeat(random.nextInt(1, 6)) {
                    val at = random.nextInt(text.length)
                    when (random.nextInt(4)) {
                        0 -> text.deleteCharAt(at)
                        1 -> text.insert(at, "{}@[]:-#\"0x9 \n"[random.nextInt(14)])
                        2 -> text.insert(at, FANS.drop(random.nextInt(FANS.length)).take(40))
                        else -> text.setCharAt(at, random.nextInt(0x20, 0x7f).toChar())
                    }
                }
                runCatching { Descriptions.parse("$text", "x") }.onFailure {
                    withClue(text) { it.message!! shouldMatch "(?s)x:\\d+: .*" }
                    (it is DescriptionException) shouldBe true
                }
            }
        }
    })
