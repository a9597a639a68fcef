package org.kverbs.ibtool

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import kotlin.io.path.createDirectory
import kotlin.io.path.exists
import kotlin.io.path.listDirectoryEntries
import kotlin.io.path.readText
import kotlin.io.path.writeText

/** Options that name files which do not fit each other, the fabric, or the disk. */
class HostileFilesSpec :
    FunSpec({
        val folder = tempdir().toPath()

        fun run(
            line: String,
            fabric: String = "hosts:2",
        ) = Outcome(*line.split(' ').toTypedArray(), "--fabric", fabric)

        fun lines(outcome: Outcome) = "${outcome.err}".trim().lines()

        val net = "vendid=0x8f1\nCa 1 \"H-1\"\n[1] \"S-1\"[1]\nSwitch 2 \"S-1\"\n[1] \"H-1\"[1]\n"

        for (options in listOf(
            "ibhosts --pcap FILE --fabric FILE",
            "ibhosts --cache FILE --pcap FILE",
            "iblinkinfo --load-cache FILE --pcap ./other/../FILE",
            "ibqueryerrors --threshold-file FILE --cache FILE",
            "ibnetdiscover --node-name-map FILE --cache FILE",
            "ibdiscover FILE --pcap FILE",
            "ibnetdiscover FILE --pcap FILE",
            "map FILE --threshold-file FILE",
        )) {
            test("should not write over a file that the command line names twice: $options") {
                val file = folder.resolve("twice").also { it.writeText("mine") }
                val words = options.replace("./other/../FILE", "$folder/other/../twice").replace("FILE", "$file")
                val outcome = if ("--fabric" in options) Outcome(*words.split(' ').toTypedArray()) else run(words)
                withClue("$outcome") { outcome.status shouldBe 2 }
                "${outcome.err}" shouldContain "name one file, $file: give each a file of its own"
                file.readText() shouldBe "mine"
            }
        }

        test("should compare with a saved topology and write it anew in one run, as infiniband-diags does") {
            val file = folder.resolve("compared")
            run("ibnetdiscover --cache $file").status shouldBe 0
            val outcome = run("ibnetdiscover --diff $file --cache $file", "hosts:3")
            withClue("$outcome") { outcome.status shouldBe 0 }
            "${outcome.out}" shouldContain "H-3"
            "${run("ibnetdiscover --diff $file", "hosts:3").out}" shouldNotContain "H-3"
        }

        test("should refuse options of a cache that do not fit each other") {
            "${run("ibhosts --refresh-cache").err}" shouldContain "--refresh-cache needs --cache FILE"
            val both = run("ibhosts --load-cache a --cache b")
            both.status shouldBe 2
            "${both.err}" shouldContain "give --load-cache or --cache, not both"
        }

        test("should not answer from the cache of another fabric, or of another port") {
            val file = folder.resolve("foreign")
            run("ibhosts --cache $file").status shouldBe 0
            val file2 = folder.resolve("net").also { it.writeText(net.replace("H-1", "X-1")) }
            val other = run("ibhosts --cache $file -C S-1", "$file2")
            other.status shouldBe 255
            val port = run("ibhosts --cache $file -C H-2")
            withClue("$port") { port.status shouldBe 255 }
            "${port.err}" shouldContain "ibhosts: --cache $file: its paths begin at port "
            "${port.err}" shouldContain "; --refresh-cache writes it anew"
            val absent = run("ibhosts --cache $file -C H-200", "hosts:300")
            withClue("$absent") { absent.status shouldBe 255 }
            "${absent.err}" shouldContain "it is of another fabric"
            run("ibhosts --cache $file").status shouldBe 0
        }

        test("should not answer from a cache in which this port leads to another node than now") {
            val file = folder.resolve("recabled")
            run("ibhosts --cache $file", "fat-tree:4").status shouldBe 0
            val outcome = run("ibhosts --cache $file", "torus:4,4")
            withClue("$outcome") { outcome.status shouldBe 255 }
            "${outcome.err}" shouldContain "; --refresh-cache writes it anew"
            val health = run("health --load-cache $file", "torus:4,4")
            withClue("$health") { health.status shouldBe 3 }
            "${health.err}" shouldContain "this command asks the fabric itself"
        }

        test("should print the result though the cache cannot be written, and name the file that the option names") {
            val file = folder.resolve("n".repeat(250))
            val outcome = run("ibhosts --cache $file")
            outcome.status shouldBe 255
            outcome.out.lines().size shouldBe 3
            lines(outcome).single() shouldBe "ibhosts: --cache $file cannot be written: File name too long"
            file.exists() shouldBe false
        }

        test("should say before it asks the fabric that there is no folder for a file") {
            for (option in listOf("--cache", "--pcap")) {
                val outcome = run("ibhosts $option $folder/none/file")
                outcome.status shouldBe 255
                "${outcome.err}" shouldBe
                    "ibhosts: $option $folder/none/file cannot be written: there is no folder $folder/none\n"
            }
        }

        test("should name the file that cannot be read or written") {
            val taken = folder.resolve("taken").createDirectory()
            for ((line, text) in listOf(
                "ibnetdiscover $taken" to "the topology file $taken cannot be written: Is a directory",
                "map $taken" to "the file $taken cannot be written: Is a directory",
                "ibhosts --load-cache $taken" to "$taken: Is a directory",
                "ibcheckerrs 3 1 -T $taken" to "$taken cannot be read: Is a directory",
                "ibqueryerrors --threshold-file $taken" to "$taken cannot be read: Is a directory",
                "health --threshold-file $taken" to "$taken: Is a directory",
            )) {
                "${run(line).err}" shouldContain text
            }
            taken.listDirectoryEntries() shouldBe emptyList()
        }

        test("should warn of thresholds that are no numbers, and of counters that there are not") {
            val file = folder.resolve("limits")
            file.writeText("# mine\nSymbolErrorCounter=1o\nSymbolErrors=5\n\nLinkDownedCounter=3\nVL15Dropped=\n")
            for (command in listOf("ibqueryerrors", "health", "map --no-hosts")) {
                lines(run("$command --threshold-file $file")) shouldContainExactly
                    listOf(
                        "WARNING: line 2 of $file: \"1o\" is no number; the threshold of SymbolErrorCounter is 0",
                        "WARNING: line 3 of $file: there is no counter \"SymbolErrors\"",
                        "WARNING: line 6 of $file: \"\" is no number; the threshold of VL15Dropped is 0",
                    )
            }
        }

        test("should print the version of each command, as infiniband-diags does with -V") {
            for (option in listOf("-V", "--version")) {
                val outcome = Outcome("perfquery", option)
                outcome.status shouldBe 0
                "${outcome.out}" shouldContain Regex("^perfquery of kverbs ")
            }
        }

        test("should refuse a timeout of nothing and a port beyond 255 as a wrong command line") {
            for (options in listOf("-t 0", "-P 256", "-t -1")) run("ibhosts $options").status shouldBe 2
            "${run("ibhosts -t -1").err}" shouldContain "\"-1\" is no number from 0 up"
        }
    })
