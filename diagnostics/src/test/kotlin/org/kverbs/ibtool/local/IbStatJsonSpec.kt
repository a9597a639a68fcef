package org.kverbs.ibtool.local

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.collections.shouldNotContain
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.kverbs.ibtool.Outcome

/** `ibstat --json` shows what the text shows. */
class IbStatJsonSpec :
    FunSpec({
        fun run(line: String) = Outcome(*line.split(' ').toTypedArray(), "--fabric", "hosts:2")

        fun json(line: String) = Json.parseToJsonElement("${run("$line --json").out}").jsonArray

        val name = json("ibstat").first().jsonObject.getValue("name").jsonPrimitive.content

        test("should refuse a port that the adapter does not have") {
            for (form in listOf("", " --json")) {
                val outcome = run("ibstat $name 99$form")
                withClue("$outcome") { outcome.status shouldBe 255 }
                "${outcome.err}" shouldContain "has no port number 99"
            }
        }

        test("should show the one port, names alone, GUIDs alone, or no ports") {
            json("ibstat $name 1").single().jsonObject.getValue("ports").jsonArray shouldHaveSize 1
            json("ibstat -l").first().jsonPrimitive.content shouldBe name
            json("ibstat -p").first().jsonPrimitive.content shouldBe "${run("ibstat -p").out}".lines().first()
            json("ibstat -s").first().jsonObject.keys shouldNotContain "ports"
        }
    })
