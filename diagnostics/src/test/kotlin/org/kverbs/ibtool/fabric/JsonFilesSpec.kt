package org.kverbs.ibtool.fabric

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldBeEmpty
import io.kotest.matchers.string.shouldContain
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.kverbs.ibtool.Outcome
import kotlin.io.path.readText
import kotlin.io.path.writeText

/** Files as arguments of commands, and what `--json` does with them. */
class JsonFilesSpec :
    FunSpec({
        val folder = tempdir().toPath()

        fun run(vararg words: String) =
            Outcome(*words, "--fabric", "hosts:2").also { withClue("$it") { it.status shouldBe 0 } }

        for (words in listOf(listOf("ibnetdiscover"), listOf("map"), listOf("ibnetdiscover", "-l"))) {
            test("should write to the file the JSON that it would print: ${words.joinToString(" ")}") {
                val file = folder.resolve("json").also { it.writeText("mine") }
                val printed = run(*words.toTypedArray(), "--json")
                "${run(*words.toTypedArray(), "$file", "--json").out}".shouldBeEmpty()
                Json.parseToJsonElement(file.readText()).jsonObject.keys shouldBe
                    Json.parseToJsonElement("${printed.out}").jsonObject.keys
                file.readText().last() shouldBe '\n'
            }
        }

        test("should print the nodes of a topology file as JSON") {
            val file = folder.resolve("topology")
            run("ibnetdiscover", "$file")
            val nodes =
                Json
                    .parseToJsonElement("${run("ibnodes", "$file", "--json").out}")
                    .jsonObject
                    .getValue("nodes")
                    .jsonArray
                    .map { it.jsonObject }
            nodes.map { it.getValue("type").jsonPrimitive.content }.distinct() shouldBe listOf("ca", "switch")
            nodes.map { it.getValue("name").jsonPrimitive.content }.filter { it[0] == 'H' }.toSet() shouldBe
                setOf("H-1", "H-2")
            val guids = Regex("0x\\p{XDigit}{16}").findAll("${run("ibnodes", "$file").out}").map { it.value }.toList()
            nodes.map { it.getValue("guid").jsonPrimitive.content } shouldBe guids
        }

        test("should refuse a file without a forwarding table, and not call its switches balanced") {
            val file = folder.resolve("name").also { it.writeText("machine\n") }
            for (json in listOf(emptyArray(), arrayOf("--json"))) {
                val outcome = Outcome("check_lft_balance", "-l", "$file", "--fabric", "hosts:2", *json)
                withClue("$outcome") { outcome.status shouldBe 255 }
                "${outcome.out}".shouldBeEmpty()
                "${outcome.err}" shouldContain "$file has no forwarding tables as dump_lfts prints them"
            }
        }
    })
