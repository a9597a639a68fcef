package org.kverbs.ibtool.fabric

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.ibtool.Outcome

/** `--load-cache` of another fabric misleads commands that ask the live one. */
class LoadedCacheSpec :
    FunSpec({
        val folder = tempdir().toPath()
        val foreign = folder.resolve("foreign")
        val own = folder.resolve("own")
        val tables = folder.resolve("tables")

        fun run(
            line: String,
            vararg fabric: String = arrayOf("--fabric", "hosts:2"),
        ) = Outcome(*line.split(' ').toTypedArray(), *fabric)

        beforeSpec {
            run("ibdiscover $foreign -C H-300", "--fabric", "hosts:300").status shouldBe 0
            run("ibdiscover $own").status shouldBe 0
            tables.toFile().writeText("${run("dump_lfts").out}")
        }

        val asking =
            """
            ibclearcounters
            ibclearerrors
            ibqueryerrors -k -K
            health
            check
            check --path 1 3
            top -n 1 --interval 0.01
            ibdatacounters
            dump_fts
            dump_lfts
            dump_mfts
            ibfindnodesusing S-1 1
            check_lft_balance -v
            ibcheckerrors
            ibchecknet
            """.trimIndent().lines()

        for (line in asking) {
            test("should not ask or change a fabric by a file of another one: $line") {
                val outcome = run("$line --load-cache $foreign")
                withClue("$outcome") { outcome.status shouldBe if (line == "health") 3 else 255 }
                "${outcome.err}" shouldContain Regex("--load-cache $foreign: (it is of another|its paths begin)")
                "${outcome.err}" shouldContain "; this command asks the fabric itself"
            }

            test("should take a file of the fabric that it asks: $line") {
                val outcome = run("$line --load-cache $own")
                withClue("$outcome") { outcome.status shouldBe run(line).status }
                "${outcome.err}" shouldBe "${run(line).err}"
            }
        }

        for (line in listOf("ibnetdiscover", "iblinkinfo", "ibhosts", "ibnodes", "ibidsverify", "ibcheckstate")) {
            test("should show the file of any fabric, without a fabric: $line") {
                val outcome = run("$line --load-cache $foreign", *emptyArray())
                withClue("$outcome") { outcome.status shouldBe 0 }
            }
        }

        test("should compare a file of any fabric with tables of a file, and refuse it for tables of the fabric") {
            run("check_lft_balance -l $tables -i $foreign -v").status shouldBe 0
            val outcome = run("check_lft_balance -i $foreign")
            withClue("$outcome") { outcome.status shouldBe 255 }
            "${outcome.err}" shouldContain "-i $foreign: "
        }

        test("should compare a file with a planned fabric if no part asks the fabric") {
            val outcome = run("check --load-cache $foreign --expect $foreign --skip routes,multicast,partitions")
            withClue("$outcome") { outcome.status shouldBe 0 }
        }

        test("should read the counters of a fabric whose topology is loaded") {
            run("ibcheckerrors --load-cache $own -d").err.length shouldNotBe 0
        }
    })
