package org.kverbs.ibtool

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldBeEmpty
import io.kotest.matchers.string.shouldContain

/** Command lines with numbers out of range, and files that are not there. */
class HostileCommandLineSpec :
    FunSpec({
        fun run(line: String) = Outcome(*line.split(' ').toTypedArray(), "--fabric", "hosts:2")

        val lines =
            """
            smpdump 3 0x10000
            smpdump 3 0x11 0x100000000
            sminfo -p 99 1 1
            sminfo 1 4294967296
            perfquery 3 300
            perfquery 3 4294967297
            perfquery 3 ,
            perfquery 3 1 0x100000000
            ibsendtrap local_link_integrity 999
            ibcheckerrs 3 300
            smpquery PI 3 4294967296
            smpquery NI 3 --retries 4294967296
            smpquery NI 3 --outstanding 4294967297
            smpquery NI 3 -P 4294967297
            ibportstate 3 4294967297
            ibroute 2 4294967296
            """.trimIndent().lines()

        for (line in lines) {
            test("should refuse a number that is too large, in a sentence: $line") {
                val outcome = run(line)
                withClue("$outcome") { outcome.status shouldBeGreaterThan 1 }
                "${outcome.out}".shouldBeEmpty()
                "${outcome.err}" shouldContain Regex("give |are |names no port")
            }
        }

        for (line in listOf("ibhosts /no/file", "ibswitches /no/file")) {
            test("should say that a file is not there: $line") {
                val outcome = run(line)
                outcome.status shouldBe 255
                "${outcome.err}" shouldContain "/no/file: there is no such file"
            }
        }

        test("should not call a fabric healthy by a file of thresholds that is not there") {
            val outcome = run("health --threshold-file /no/file")
            withClue("$outcome") { outcome.status shouldBe 3 }
            "${outcome.err}" shouldContain "/no/file"
            run("map --threshold-file /no/file").status shouldBe 255
        }

        test("should warn of a file of thresholds that is not there, where infiniband-diags goes on without it") {
            val outcome = run("ibqueryerrors --threshold-file /no/file")
            outcome.status shouldBe 0
            "${outcome.err}" shouldContain "/no/file cannot be read"
        }

        test("should refuse the name of a counter that there is not") {
            val outcome = run("health --suppress foo")
            outcome.status shouldBe 2
            "${outcome.err}" shouldContain "foo is no error counter"
        }

        test("should name a word that is no command, whatever stands behind it") {
            for (words in listOf("ibhost --fabric hosts:2", "ibdiagnet -l 3", "IBHOSTS")) {
                val outcome = Outcome(*words.split(' ').toTypedArray())
                withClue("$outcome") { outcome.status shouldBe 2 }
                "${outcome.err}" shouldContain "no such subcommand ${words.substringBefore(' ')}"
            }
        }

        test("should show the usage of the command whose line is wrong") {
            "${run("ibsysstat").err}" shouldContain "Usage: ibtool ibsysstat"
        }

        test("should end with a sentence on numbers, paths and generators that are too large") {
            val hops = "0" + ",1".repeat(6000)
            for ((words, status) in listOf(
                listOf("smpquery", "NI", hops) to 255,
                listOf("ibhosts", "--retries", "2147483647") to 2,
                listOf("ibhosts", "--retries", "2147483648") to 2,
                listOf("ibhosts", "-o", "0") to 2,
                listOf("ibhosts", "-o", "2147483648") to 2,
            )) {
                val outcome = Outcome(*words.toTypedArray(), "--fabric", "hosts:2")
                withClue("$words: $outcome") {
                    outcome.status shouldBe status
                    "${outcome.err}".trim().lines().none { it.startsWith("\tat ") } shouldBe true
                }
            }
            val outcome = Outcome("ibhosts", "--fabric", "torus:255,255")
            outcome.status shouldBe 2
            "${outcome.err}" shouldContain "LIDs"
        }
    })
