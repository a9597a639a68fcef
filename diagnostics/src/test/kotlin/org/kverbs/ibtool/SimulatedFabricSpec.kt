package org.kverbs.ibtool

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotBeEmpty
import io.kotest.matchers.string.shouldNotContain
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.kverbs.ibtool.counters.humanReadable
import java.nio.file.Path
import kotlin.io.path.writeText

/** Each command on a simulated fabric: it ends well, and its JSON is JSON. */
class SimulatedFabricSpec :
    FunSpec({
        val lines =
            """
            ibstat
            ibaddr
            smpquery NI 3
            smpquery ND 3
            smpquery PI 3 1
            smpquery SI 2
            smpquery PKeys 3
            smpquery SL2VL 2 1
            smpquery VLArb 2 1
            smpquery GI 3
            smpdump 3 0x11
            sminfo
            perfquery 2 1
            perfquery -x 2 1
            perfquery -l -a 2
            perfquery -E 2 1
            ibnetdiscover
            iblinkinfo
            ibnodes
            ibhosts
            ibswitches
            ibrouters
            ibroute 2
            ibroute -M 2
            ibtracert 1 9
            ibportstate 3 1
            ibportstate 2 1
            ibportstate 3 1 width 2
            ibsendtrap
            ibsendtrap mkey_dr
            ibdatacounts 2
            ibdatacounters
            ibswportwatch -p 1 -n 1 2 1
            ibclearcounters
            ibclearerrors
            ibqueryerrors
            ibqueryerrors --counters
            dump_fts
            dump_lfts
            dump_mfts
            saquery
            saquery CPI
            saquery PIR
            saquery SL2VL
            saquery --smkey 1 PKTR
            saquery VLAR
            saquery LR
            saquery PR
            saquery LFTR
            saquery GIR
            saquery SWIR
            saquery SMIR
            saquery -D
            saquery -s
            saquery --src-to-dst 1:3
            saquery NR nodeInfo.nodeType=SWITCH
            ibprintca H-1
            ibprintca -l
            ibprintswitch S-1
            ibprintrt -l
            ibfindnodesusing S-1 1
            check_lft_balance -v
            check_lft_balance
            ibidsverify
            health
            health --skip routes,counters
            check
            check --path H-1 H-6
            map
            map --dot
            top -n 1 --interval 0.01
            ibchecknode -v 3
            ibcheckport -v 2 1
            ibcheckportstate -v 2 1
            ibcheckportwidth -v 2 1
            ibcheckerrs -v 2 1
            ibcheckerrs -v 3
            ibchecknet
            ibcheckstate
            ibcheckwidth
            ibcheckerrors -b
            """.trimIndent().lines()

        for (line in lines) {
            test("should run on a simulated fabric, and print JSON: $line") {
                val words = (line.split(' ') + listOf("--fabric", "hosts:6")).toTypedArray()
                val outcome = Outcome(*words)
                withClue("${outcome.err}") { outcome.status shouldBe 0 }
                val isEmpty =
                    line in
                        setOf(
                            "ibprintrt -l",
                            "check_lft_balance",
                            "ibrouters",
                            "ibidsverify",
                            "ibsendtrap",
                            "ibsendtrap mkey_dr",
                        )
                if (!isEmpty) "${outcome.out}".shouldNotBeEmpty()

                val json = Outcome(*words, "--json")
                withClue("${json.err}") { json.status shouldBe 0 }
                Json.parseToJsonElement("${json.out}")
            }
        }

        test("should not show a management key in the JSON of smpquery without -K") {
            val hidden = Outcome("smpquery", "PI", "3", "1", "--json", "--fabric", "hosts:6")
            "${hidden.out}" shouldNotContain "mKey\":"
            val shown = Outcome("smpquery", "-K", "PI", "3", "1", "--json", "--fabric", "hosts:6")
            "${shown.out}" shouldContain "mKey\":"
        }

        for (line in dryRuns) {
            test("should print one JSON value that says what would be set: $line --dry-run --json") {
                val words = line.split(' ') + listOf("--dry-run", "--json", "--fabric", "hosts:6")
                val outcome = Outcome(*words.toTypedArray())
                withClue("${outcome.err}") { outcome.status shouldBe 0 }
                val json = Json.parseToJsonElement("${outcome.out}").jsonObject
                json.getValue("would").jsonPrimitive.content shouldContain "set"
            }
        }

        test("should tell the rate of a simulated port, as the kernel tells that of a card") {
            "${Outcome("ibstat", "--fabric", "hosts:6").out}" shouldContain "Rate: 200\n"
        }

        test("should find a host by its description, its GUID and a directed path") {
            val byName = Outcome("smpquery", "NI", "H-3", "--fabric", "hosts:6")
            val guid = Regex("PortGuid:\\.+(0x\\p{XDigit}+)").find(byName.out)!!.groupValues[1]
            Outcome("smpquery", "-G", "NI", guid, "--fabric", "hosts:6").out.lines().drop(1) shouldBe
                byName.out.lines().drop(1)
            "${Outcome("smpquery", "ND", "0,1", "--fabric", "hosts:6").out}" shouldContain "S-1"
        }

        test("should say what would be reset with --dry-run, and leave the counters as they are") {
            val outcome = Outcome("perfquery", "-R", "--dry-run", "2", "1", "--fabric", "hosts:6")
            "${outcome.out}" shouldBe "would reset the counters 0x1ffff of Lid 2 port 1\n"
        }

        test("should print counters with units as infiniband-diags does") {
            listOf(0L, 441L, 1023L, 1024L, 1407L).map { humanReadable(it, false) } shouldBe
                listOf("0.000", "441.000", "1023.000", "1.000K", "1.374K")
            listOf(255L, 4680L, 31752L, -1L).map { humanReadable(it, true) } shouldBe
                listOf("1020.000B", "18.281KB", "124.031KB", "64.000EB")
        }

        test("should read thresholds, and name those that it knows in the summary") {
            val file = Path.of("${tempdir()}", "thresholds")
            file.writeText("# ours\nSymbolErrorCounter=0x10\nNonsense=3\nVL15Dropped=100\n")
            val outcome = Outcome("ibqueryerrors", "--fabric", "hosts:2", "--threshold-file", "$file")
            "${outcome.out}" shouldContain "\n## Thresholds: [SymbolErrorCounter = 16][VL15Dropped = 100]\n"
        }

        test("should end with the status of infiniband-diags, and a sentence, where nobody answers") {
            val outcome = Outcome("smpquery", "NI", "77", "--fabric", "hosts:6")
            outcome.status shouldBe 255
            "${outcome.err}" shouldContain "smpquery: operation NI: no answer from Path 77"
        }
    })

/** Command lines that set something. */
private val dryRuns =
    listOf("ibportstate 3 1 width 2", "vendstat -c 0,1 2 1", "ibclearcounters", "ibclearerrors", "sminfo 1 5")
