package org.kverbs.ibtool.session

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotBeEmpty
import io.kotest.matchers.string.shouldNotContain
import org.kverbs.ibtool.Outcome

/** Of a switch the port by which a question arrived, which is another one for the subnet manager's. */
private val changing = Regex("# Topology file: generated on .*|LocalPort:.*")

private fun Outcome.stable() = "$out".replace(changing, "")

/** `--sa`, `--sa-path` and `--discovery` on a simulated fabric. */
class SaSpec :
    FunSpec({
        val questions =
            """
            smpquery NI 3
            smpquery ND 3
            smpquery PI 2 1
            smpquery PI -D 0,1 2
            smpquery SI 2
            smpquery PKeys 3
            smpquery SL2VL 2 1
            smpquery VLArb 2 1
            smpquery GI 3
            sminfo
            ibaddr 3
            ibaddr -D 0,1
            ibroute 2
            ibroute -D 0,1
            ibroute -M 2
            ibtracert 1 9
            dump_fts
            dump_fts -M
            ibnetdiscover
            ibnetdiscover -p
            iblinkinfo
            ibhosts
            ibswitches
            ibidsverify
            ibcheckstate
            ibchecknode -v 3
            ibcheckport -v 2 1
            """.trimIndent().lines()

        for (line in questions) {
            test("should answer from the administrator's records what the nodes answer, and ask no node: $line") {
                val words = (line.split(' ') + listOf("--fabric", "hosts:6")).toTypedArray()
                val records = Outcome(*words, "--sa", "--debug")
                val nodes = Outcome(*words)
                withClue("$records") { records.status shouldBe nodes.status }
                records.stable() shouldBe nodes.stable()
                "${records.err}" shouldContain "SAFormat"
                "${records.err}" shouldNotContain "SMPFormat"
            }
        }

        for (line in listOf("ibnetdiscover", "iblinkinfo -l", "ibhosts", "check", "health", "map", "ibqueryerrors")) {
            test("should find the same fabric by directed routes, by LIDs and by records: $line") {
                val words = (line.split(' ') + listOf("--fabric", "fat-tree:4")).toTypedArray()
                val (direct, byLid, recorded) =
                    listOf("DR", "LID", "SA").map { Outcome(*words, "--discovery", it) }
                withClue("$direct$byLid$recorded") {
                    listOf(byLid.status, recorded.status) shouldBe
                        List(2) { direct.status }
                }
                direct.stable().shouldNotBeEmpty()
                byLid.stable() shouldBe direct.stable()
                recorded.stable() shouldBe direct.stable()
            }
        }

        test("should ask the administrator for the path to a LID and a directed path with --sa-path, and go that way") {
            for (address in listOf(arrayOf("3"), arrayOf("-D", "0,1"))) {
                val outcome = Outcome("smpquery", "NI", *address, "--sa-path", "-d", "--fabric", "hosts:6")
                withClue("$outcome") { outcome.status shouldBe 0 }
                "${outcome.err}" shouldContain "SAPathRecord"
                "${outcome.err}" shouldNotContain "SUBN_DIRECTED_ROUTE"
            }
        }

        test("should say that the administrator has no such record") {
            val outcome = Outcome("smpquery", "NI", "77", "--sa", "--fabric", "hosts:6")
            outcome.status shouldBe 255
            "${outcome.err}" shouldContain "NO_RECORDS"
        }
    })
