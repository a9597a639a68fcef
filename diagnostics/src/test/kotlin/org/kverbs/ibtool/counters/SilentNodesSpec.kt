package org.kverbs.ibtool.counters

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import org.kverbs.ibtool.Changed
import org.kverbs.ibtool.Outcome
import org.kverbs.ibtool.Silent
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.transport.MadTransport
import org.kverbs.structures.Lid
import java.nio.file.Path
import kotlin.io.path.writeText

/** Counters of fabrics of which some ports, or all, do not answer. */
class SilentNodesSpec :
    FunSpec({
        val file = Path.of("${tempdir()}", "net")
        file.writeText(
            """
            Switch 4 "S-1"
            [1] "H-1"[1]
            [2] "H-2"[1]
            [3] "H-2"[2]

            Ca 1 "H-1"
            [1] "S-1"[1]

            Ca 2 "H-2"
            [1] "S-1"[2]
            [2] "S-1"[3]
            """.trimIndent(),
        )

        fun run(
            vararg words: String,
            between: (MadTransport) -> MadTransport,
        ) = Outcome(*words, "--fabric", "$file", "-C", "H-1", "-t", "50", "--retries", "0", between = between)

        fun silent(isLost: (Int) -> Boolean = { true }) = { it: MadTransport -> Silent(it, Silent.PERFORMANCE, isLost) }

        val listed = Outcome("ibnetdiscover", "--fabric", "$file", "-C", "H-1", "--ports").out.lines()
        val lid =
            listed
                .first { it.startsWith("CA") && Regex("CA +\\d+ +2 ").containsMatchIn(it) }
                .trim()
                .split(Regex("\\s+"))[1]
                .toInt()

        test("should report the other ports when the second port of a host does not answer") {
            for (words in listOf(arrayOf("ibqueryerrors"), arrayOf("ibqueryerrors", "--counters"))) {
                val outcome = run(*words, between = silent { it == lid })
                withClue("$outcome") { outcome.status shouldBe 0 }
                "${outcome.err}" shouldContain "classportinfo query failed on H-2, Lid $lid port 2: "
                "${outcome.out}" shouldContain "## Summary: 3 nodes checked, 0 bad nodes found"
                "${outcome.out}" shouldContain "PMA query failures"
            }
        }

        test("should report the other ports when the second port of a host has no LID") {
            val outcome =
                run("ibqueryerrors") { inner ->
                    Changed(inner, PortInfo.attributeId) { mad ->
                        if (MADHeader.at(mad).attributeModifier.toInt() and 0xff == 2) {
                            PortInfo.at(mad, Changed.DATA).lid = Lid(0)
                        }
                    }
                }
            withClue("$outcome") { outcome.status shouldBe 0 }
            "${outcome.err}" shouldContain "classportinfo query failed on H-2 port 2: it has no LID"
            "${outcome.out}" shouldContain "## Summary: 3 nodes checked"
        }

        for (command in listOf("ibclearcounters", "ibclearerrors", "ibdatacounters")) {
            test("should name the nodes that fail, and end with 255 only if nothing worked: $command") {
                for (json in listOf(emptyArray(), arrayOf("--json"))) {
                    val nothing = run(command, *json, between = silent())
                    withClue("$nothing") { nothing.status shouldBe 255 }
                    "${nothing.err}" shouldContain "$command: S-1: "
                    "${nothing.err}" shouldContain "$command: H-2: "
                    nothing.out.length shouldBeGreaterThan 1
                    val some = run(command, *json, between = silent { it == lid })
                    withClue("$some") { some.status shouldBe 0 }
                    "${some.err}" shouldContain "$command: H-2: "
                    "${some.err}" shouldNotContain "$command: S-1: "
                }
            }
        }

        test("should say once which nodes tell top no counters") {
            for (json in listOf(emptyArray(), arrayOf("--json"))) {
                val outcome = run("top", "-n", "2", "--interval", "0.01", *json, between = silent { it == lid })
                outcome.status shouldBe 0
                withClue("$outcome") {
                    outcome.err.lines().filter { "\"H-2\" 0x" in it && "tells no counters: " in it }.size shouldBe 1
                }
            }
        }
    })
