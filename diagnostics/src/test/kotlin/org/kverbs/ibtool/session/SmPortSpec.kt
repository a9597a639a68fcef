package org.kverbs.ibtool.session

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.ibtool.Outcome

/** `--sm_port` says where the subnet administrator is. */
class SmPortSpec :
    FunSpec({
        fun run(line: String) =
            Outcome(*line.split(' ').toTypedArray(), "--fabric", "hosts:2", "-t", "50", "--retries", "0")

        test("should ask the subnet administrator at the LID that is given") {
            val here = run("smpquery NI H-2 -s 1 -d")
            withClue("$here") { here.status shouldBe 0 }
            "${here.out}" shouldBe "${run("smpquery NI H-2").out}"
            val elsewhere = run("smpquery NI H-2 -s 3 -d")
            withClue("$elsewhere") { elsewhere.status shouldBe 255 }
            "${elsewhere.err}" shouldContain "Path 3 SL=0"
        }

        test("should refuse a number that is no LID of one port") {
            for (lid in listOf("0", "0xc000")) {
                val outcome = run("smpquery NI 3 -s $lid")
                outcome.status shouldBe 2
                "${outcome.err}" shouldContain "give 1 to 49151"
            }
        }
    })
