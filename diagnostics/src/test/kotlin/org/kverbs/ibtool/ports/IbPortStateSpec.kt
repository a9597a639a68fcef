package org.kverbs.ibtool.ports

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldEndWith
import io.kotest.matchers.string.shouldNotContain
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.kverbs.ibtool.Outcome

private const val FABRIC = "fat-tree:4"

class IbPortStateSpec :
    FunSpec({
        fun portState(vararg words: String) = Outcome("ibportstate", *words, "--fabric", FABRIC)

        test("should show both ends of a switch's link, by a directed path and by a LID") {
            val byPath = portState("-D", "0,1", "3")
            byPath.status shouldBe 0
            "${byPath.out}" shouldContain "\nPeer PortInfo:\n# Port info: DR path slid 65535; dlid 65535; 0,1,3 port "

            val json = Json.parseToJsonElement("${portState("-D", "0,1", "0", "--json").out}").jsonObject
            val lid = json.getValue("port").jsonObject.getValue("portInfo").jsonObject.getValue("lid").jsonPrimitive
            val byLid = portState(lid.content, "3")
            byLid.status shouldBe 0
            "${byLid.out}" shouldContain
                "\nPeer PortInfo:\n# Port info: Lid ${lid.content} DR path slid 1; dlid 65535; 0,3"
        }

        test("should say what would be set with --dry-run, and set nothing") {
            val outcome = portState("-D", "0,1", "3", "down", "width", "1", "--dry-run")
            outcome.status shouldBe 0
            "${outcome.out}" shouldEndWith "\nwould set DR path slid 65535; dlid 65535; 0,1 port 3: down, width 1\n"
            "${outcome.out}" shouldNotContain "After"
        }

        for (words in listOf("-D 0 1 disable", "-D 0,1 1 off", "-D 0,1 1 down", "-D 0,1,3 0 lid 99")) {
            val isRefused = "lid" !in words
            test(
                "should ${if (isRefused) "refuse what cuts" else "do what does not cut"} the way to the port: $words",
            ) {
                val outcome = portState(*words.split(' ').toTypedArray())
                outcome.status shouldBe if (isRefused) 255 else 0
                if (isRefused) "${outcome.err}" shouldContain "would cut the way from here to"
                ("\nAfter" in "${outcome.out}") shouldBe !isRefused

                // What is forced can end without an answer: its way is cut.
                val forced = portState(*words.split(' ').toTypedArray(), "--force", "-t", "50")
                "${forced.err}" shouldContain "ibportstate: sets DR path slid 65535; dlid 65535; 0"
            }
        }

        test("should refuse to change the LID by which a port is addressed") {
            val outcome = portState("1", "1", "lid", "99")
            outcome.status shouldBe 255
            "${outcome.err}" shouldContain "\"lid 99\" would cut the way from here to Lid 1 port 1"
        }

        test("should refuse to take down the port by which a switch is asked by its LID") {
            val outcome = portState("2", "1", "reset")
            outcome.status shouldBe 255
            "${outcome.err}" shouldContain "would cut the way"
        }

        test("should not show a management key that is set") {
            val outcome = portState("-D", "0,1", "0", "mkey", "0xabc", "--dry-run")
            "${outcome.out}" shouldContain "would set DR path slid 65535; dlid 65535; 0,1 port 0: mkey ...\n"
            "${outcome.out}" shouldContain "Mkey:............................<not displayed>"
        }
    })
