package org.kverbs.structures

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeLessThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.structures.generator.documentation

private val named = Descriptions.parse("structure Named {\n    string:512 name \"Name\"\n}").type("Named")

/** Clears a terminal, ends the line, and turns the direction of what follows. */
private const val NASTY = "a\u001b[2Jb\nc\u202ed\u2028e"

class HostileTextSpec :
    FunSpec({
        test("should refuse JSON that is nested without end") {
            for (opening in listOf("[", "{\"state\":", "{\"state\":[", "{\"serial\":[{\"wear\":")) {
                withClue(opening) {
                    shouldThrow<IllegalArgumentException> { fans.type("Fan").fromJson(opening.repeat(300_000)) }
                        .message shouldContain "nested"
                }
            }
            named.fromJson("{\"name\": \"${"[".repeat(60)}\"}")["name"] shouldBe "[".repeat(60)
            named.fromJson("{\"name\": \"a\\\"[\"}")["name"] shouldBe "a\"["
        }

        test("should set a bit of a mask that JSON names twice once") {
            val twice = fans.type("Fan").fromJson("{\"alarms\": [\"STUCK\", \"STUCK\"]}")
            "${twice["alarms"]}" shouldBe "STUCK(1)"
        }

        test("should refuse text of any length with a short message") {
            val long = "7".repeat(100_000)
            val list = List(50_000) { 1 }.joinToString(",", "[", "]")
            for (value in listOf(list, "{\"a\":$list}", "\"$long\"", long)) {
                for (field in listOf("state", "speed", "serial", "wear")) {
                    val error =
                        shouldThrow<IllegalArgumentException> { fans.type("Fan").fromJson("{\"$field\": $value}") }
                    withClue("$field ${value.take(20)}") { error.message.orEmpty().length shouldBeLessThan 400 }
                }
            }
            shouldThrow<IllegalArgumentException> { Lid.parse(long) }.message.orEmpty().length shouldBeLessThan 400
            shouldThrow<IllegalArgumentException> { Guid.parse(long) }.message.orEmpty().length shouldBeLessThan 400
        }

        test("should print text of a node without characters that act on a terminal") {
            val node = named { this["name"] = NASTY }
            for (text in listOf("$node", node.dump(), node.dotted())) {
                withClue(text) {
                    text.lines().none { it.startsWith("c") } shouldBe true
                    text shouldContain "\\u001b"
                    for (character in "\u001b\u202e\u2028") (character in text) shouldBe false
                }
            }
        }

        test("should refuse documentation without end, and attributes without end") {
            val said = "## word\n".repeat(20_000) + "structure A {\n    uint:8 a\n}\n"
            shouldThrow<DescriptionException> { Descriptions.parse(said) }.message shouldContain "documentation"
            val classes = List(50) { "0-255" }.joinToString(",")
            val attribute = "    attribute 1 of $classes version 1 methods Get\n"
            val all = "structure A {\n    uint:8 a\n${attribute.repeat(10_001)}}\n"
            shouldThrow<DescriptionException> { Descriptions.parse(all) }.message shouldContain "attributes"
            val one = Descriptions.parse("structure A {\n    uint:8 a\n$attribute}\n").structure("A")
            one.attributes.single().classes shouldBe (0..255).toList()
        }

        test("should write documentation that neither opens nor closes a comment") {
            for (said in listOf("see /dev/*", "ends */ here", "/*/ and */*", "[x]")) {
                val written = documentation(said, "")
                withClue(written) { ("/*" in written || "*/" in written) shouldBe false }
            }
        }
    })
