package org.kverbs.ibtool.session

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldMatch
import kotlinx.serialization.json.Json
import org.kverbs.ibtool.Outcome
import org.kverbs.management.structures.PortCounters

class WatchSpec :
    FunSpec({
        fun run(vararg words: String): Outcome =
            Outcome(*words, "--watch", "0.01", "--cycles", "2", "--fabric", "hosts:2").also {
                withClue("$it") { it.status shouldBe 0 }
            }

        test("should repeat the counters of a port, with the rates of those that moved") {
            val lines = run("perfquery", "2", "1").out.lines()
            lines.count { it.startsWith("# Port counters: Lid 2 port 1") } shouldBe 2
            // The questions themselves are the traffic of the fabric.
            lines.single { it.startsWith("Lid 2 port 1 PortCounters: ") } shouldContain "PortXmitPkts == "
        }

        test("should repeat the reports of the whole fabric, with rates") {
            for (command in listOf(arrayOf("ibdatacounters"), arrayOf("ibqueryerrors", "--counters"))) {
                val lines = run(*command).out.lines()
                lines.count { it.startsWith("## Summary:") } shouldBe 2
                lines.any { it.startsWith("Lid ") && "XmitPkts == " in it && "/s]" in it } shouldBe true
            }
        }

        test("should repeat the links of the fabric") {
            run("iblinkinfo", "-l").out.lines().count { "==>" in it } shouldBe
                2 * Outcome("iblinkinfo", "-l", "--fabric", "hosts:2").out.lines().count { "==>" in it }
        }

        test("should print a JSON value for each look, and one for the rates") {
            val values =
                "${run(
                    "perfquery",
                    "2",
                    "1",
                    "--json",
                ).out}".split(Regex("(?m)(?<=^[\\]}])\n")).filter { it.isNotBlank() }
            values.size shouldBe 3
            values.forEach { Json.parseToJsonElement(it) }
            values.last() shouldContain "perSecond"
        }

        test("should take a counter that was reset meanwhile to have begun at zero") {
            val growth = CounterGrowth()
            growth.record("here", PortCounters { portXmitData = 1000 })
            growth.next()
            growth.text() shouldBe ""
            growth.record("here", PortCounters { portXmitData = 5 })
            growth.text().trim() shouldMatch Regex("here: \\[PortXmitData == [0-9.]+/s]")
        }

        test("should refuse a pause that is none") {
            for (pause in listOf("0", "-1", "x", "NaN")) {
                Outcome("perfquery", "2", "1", "--watch", pause, "--fabric", "hosts:2").status shouldBe 2
            }
        }
    })
