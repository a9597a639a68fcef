package org.kverbs.ibtool

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldNotContain
import kotlinx.serialization.json.Json
import org.xml.sax.InputSource
import java.io.StringReader
import javax.xml.parsers.DocumentBuilderFactory
import kotlin.io.path.writeText

/** A node can call itself anything: no output of any command lets it out. */
class HostileNamesSpec :
    FunSpec({
        val folder = tempdir().toPath()
        val fabric = arrayOf("--fabric", "${hostileNet(folder)}")

        fun words(command: String) =
            COMMAND_LINES.getValue(command).split(' ').filter { it.isNotEmpty() }.toTypedArray()

        fun check(outcome: Outcome) {
            for (text in listOf(outcome.out, outcome.err)) {
                withClue(
                    "$text",
                ) { text.filter { it.isISOControl() && it != '\n' && it != '\t' }.toString() shouldBe "" }
                "$text" shouldNotContain "\tat org."
            }
        }

        test("should try all commands") {
            for (command in Commands.groups.values.flatten() - COMMANDS_WITHOUT_NAMES) {
                COMMAND_LINES.keys shouldContain
                    command
            }
        }

        for (command in COMMAND_LINES.keys) {
            test("should print no control character of a description: $command") {
                check(Outcome(command, *words(command), *fabric))
                check(Outcome(command, *words(command), *fabric, "-vv", "-dd"))
            }

            if (command != "ibccconfig") {
                test("should print JSON that can be read whatever a node calls itself: $command") {
                    val outcome = Outcome(command, *words(command), *fabric, "--json")
                    check(outcome)
                    if (outcome.status == 0 || outcome.out.isNotEmpty()) {
                        withClue("$outcome") { Json.parseToJsonElement("${outcome.out}") }
                    }
                }
            }
        }

        test("should draw SVG that can be read, without elements of a description") {
            val svg = "${Outcome("map", *fabric).out}"
            val factory = DocumentBuilderFactory.newInstance()
            val elements = factory.newDocumentBuilder().parse(InputSource(StringReader(svg))).getElementsByTagName("*")
            val names = List(elements.length) { elements.item(it).nodeName }
            names.count { it == "svg" } shouldBe 1
            names.distinct().none { it == "script" } shouldBe true
        }

        test("should print no control character of the command line, nor one that turns text around") {
            val turned = "a\u202eb\u001b[2J\u2066"
            for (line in listOf(
                arrayOf("smpquery", turned, "1"),
                arrayOf("query", turned),
                arrayOf("ibstat", turned),
            )) {
                val outcome = Outcome(*line, *fabric)
                val text = "${outcome.out}${outcome.err}"
                withClue(text) { text.filter { it == '\u202e' || it == '\u2066' || it == '\u001b' } shouldBe "" }
            }
        }

        test("should print no control character of a name map") {
            val map = folder.resolve("names").apply { writeText("0x0200000000000000 \"x\u001b[2J\"\n") }
            for (command in listOf("ibnetdiscover", "iblinkinfo", "ibqueryerrors", "ibnodes")) {
                check(Outcome(command, *fabric, "--node-name-map", "$map"))
            }
        }
    })
