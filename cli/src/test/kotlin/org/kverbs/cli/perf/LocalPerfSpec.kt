package org.kverbs.cli.perf

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.engine.spec.tempfile
import io.kotest.matchers.collections.shouldBeSorted
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.comparables.shouldBeGreaterThan
import io.kotest.matchers.doubles.shouldBeGreaterThan
import io.kotest.matchers.doubles.shouldBeGreaterThanOrEqual
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import io.kotest.matchers.string.shouldStartWith
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.double
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.long
import javax.xml.parsers.DocumentBuilderFactory

/** `kverbs perf --local`: both ends in this process, on two embedded devices. */
internal class LocalPerfSpec :
    FunSpec({
        for (test in PerfTest.entries) {
            for (way in listOf("", " --poll", " -e")) {
                if (test == PerfTest.WRITE_LAT && way == " -e") continue
                test("should measure $test$way, and print perftest's columns") {
                    val said = perf("$test --local -n 200 --warm-up 20$way")
                    withClue(said) {
                        said.status shouldBe 0
                        said.out shouldContain test.title
                        val row = said.rows.single()
                        row[0] shouldBe "${PerfOptions.defaultSize(test)}"
                        row[1] shouldBe "200"
                        val figures = row.drop(2).map { it.toDouble() }
                        if (test.isLatency) {
                            figures shouldHaveSize 7
                            val (minimum, maximum, typical, average) = figures
                            minimum shouldBeGreaterThan 0.0
                            listOf(minimum, typical, figures[5], figures[6]).shouldBeSorted()
                            maximum shouldBeGreaterThanOrEqual average
                        } else {
                            val (peak, average, rate) = figures
                            peak shouldBeGreaterThanOrEqual average
                            rate shouldBeGreaterThan 0.0
                        }
                    }
                }
            }
        }

        for (test in PerfTest.entries.filter { !it.isLatency }) {
            test("should send $test -b on three queue pairs, and count the messages of one end") {
                for (way in listOf("", " --poll")) {
                    val said = perf("$test --local -b -q 3 -t 8 -n 50 --warm-up 0 -s 8$way")
                    withClue(said) { said.rows.single()[1] shouldBe "150" }
                }
            }
        }

        for (test in PerfTest.entries) {
            test("should send $test for a second with -D 1") {
                for (way in listOf("", " --poll")) {
                    val said = perf("$test --local -D 1 --warm-up 0 --csv$way")
                    withClue(said) {
                        said.status shouldBe 0
                        val (names, figures) = said.out.trim().lines().map { it.split(',') }
                        names.first() shouldBe "test"
                        names.last() shouldBe "seconds"
                        figures.last().toDouble() shouldBeGreaterThan 0.9
                        figures[2].toLong() shouldBeGreaterThan 5
                    }
                }
            }
        }

        test("should end a timed send test of both directions, in which neither end knows how much will come") {
            for (way in listOf("", " --poll")) {
                perf("send-bw --local -b -D 1 -q 2 -s 64 --warm-up 0$way").status shouldBe 0
            }
        }

        test("should measure all sizes, whose last bytes lie in the memory of shorter ones") {
            val said = perf("write-lat --local -a -n 3 --warm-up 3 --poll")
            withClue(said) {
                said.rows.map { it[0].toInt() } shouldBe PerfOptions.ALL_SIZES
                said.rows.map { it[1] }.distinct() shouldBe listOf("3")
            }
        }

        test("should exchange the addresses of many queue pairs") {
            val said = perf("write-bw --local -q 400 -n 2 -s 8 -t 2 --warm-up 0 --poll")
            withClue(said) {
                said.rows.single()[1] shouldBe "800"
                said.out shouldContain "  and 396 more queue pairs\n"
            }
        }

        test("should connect the queue pairs by rdma_cm") {
            for (test in listOf("send-lat", "read-bw -q 3", "atomic-bw -b")) {
                val said = perf("$test --local -R -n 20 --warm-up 0")
                withClue(said) {
                    said.status shouldBe 0
                    said.out shouldContain "  connected by:   rdma_cm\n"
                }
            }
        }

        test("should print JSON, with percentiles if they are asked for") {
            val said = perf("read-lat --local --json --percentiles -n 100 --warm-up 0")
            val row = Json.parseToJsonElement(said.out).jsonArray.single().jsonObject
            row.getValue("test").jsonPrimitive.content shouldBe "read-lat"
            row.getValue("iterations").jsonPrimitive.long shouldBe 100
            val percentiles = row.getValue("percentiles_usec").jsonObject
            val median = percentiles.getValue("50.0").jsonPrimitive.double
            median shouldBe row.getValue("t_typical_usec").jsonPrimitive.double
            percentiles.getValue("100.0").jsonPrimitive.double shouldBeGreaterThanOrEqual median
        }

        test("should print percentiles and a histogram whose counts are those of the messages") {
            val said = perf("atomic-lat --local --percentiles --histogram -n 100 --warm-up 0")
            said.out shouldContain "Percentile"
            said.out shouldContain "#[Max     ="
            val counts = Regex(" usec +([0-9]+)( #*)?").findAll(said.out).sumOf { it.groupValues[1].toInt() }
            withClue(said) {
                counts shouldBe 100
                said.out shouldContain Regex("\n  < +[0-9.]+ usec ")
            }
        }

        test("should draw a chart that a parser of XML reads") {
            val file = tempfile(suffix = ".svg")
            for (test in listOf("read-lat", "write-bw", "read-bw -a", "send-lat -a")) {
                perf("$test --local -n 3 --warm-up 0 --force --svg ${file.path}").status shouldBe 0
                val root = DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(file).documentElement
                root.tagName shouldBe "svg"
                val bars = root.getElementsByTagName("title").length
                bars shouldBe
                    if (test.endsWith("-a")) {
                        23
                    } else if (test == "write-bw") {
                        1
                    } else {
                        25
                    }
            }
        }

        test("should say in one sentence why a chart was not written") {
            // Everything there is a file of the kernel's, and it lets nobody make another one.
            val said = perf("read-lat --local -n 3 --warm-up 0 --svg /proc/self/chart.svg")
            said.status shouldBe 1
            said.err shouldStartWith "kverbs: can't write /proc/self/chart.svg"
        }

        test("should measure nothing for a chart that can't be written") {
            val folder = tempdir()
            val words = "read-lat --local -n 3 --warm-up 0 --svg"
            val unfit = listOf("$folder" to "is a folder", "$folder/a/b.svg" to "there is no folder $folder/a")
            for ((file, reason) in unfit) {
                val said = perf("$words $file")
                withClue(said) {
                    said.status shouldBe 2
                    said.err shouldContain "--svg: "
                    said.err shouldContain reason
                    said.out shouldNotContain "#bytes"
                }
            }
        }

        test("should keep a file that is there, unless --force lets --svg replace it") {
            val file = tempfile(suffix = ".svg")
            file.writeText("mine")
            val words = "read-lat --local -n 3 --warm-up 0 --svg ${file.path}"
            val refused = perf(words)
            withClue(refused) {
                refused.status shouldBe 2
                refused.err shouldContain "--svg: there is a file ${file.path}; give --force to replace it"
                refused.out shouldNotContain "#bytes"
                file.readText() shouldBe "mine"
            }
            perf("$words --force").status shouldBe 0
            file.readText() shouldStartWith "<svg"
        }

        listOf("", " --poll").forEach { waiting ->
            test("should tell in one sentence how much memory messages need that a JVM has no room for$waiting") {
                val said = perf("write-bw --local -s 1GiB -q 1024$waiting")
                withClue(said) {
                    said.status shouldBe 2
                    said.err shouldContain "--size: 1024 queue pairs with messages of 1073741824 bytes need 2097152 MiB"
                    said.err shouldContain "KVERBS_JAVA_OPTIONS=-XX:MaxDirectMemorySize=4194368m"
                    said.err shouldNotContain "OutOfMemoryError"
                }
            }
        }

        test("should report Gb/sec in place of MB/sec") {
            val said = perf("write-bw --local --csv --report_gbits -n 200 --warm-up 0 -s 1000000")
            val (names, figures) = said.out.trim().lines().map { it.split(',') }
            val values = names.zip(figures).toMap()
            val rate = values.getValue("message_rate_mpps").toDouble()
            values.getValue("bw_average_gb_per_sec").toDouble() / (rate * 8000) shouldBeGreaterThan 0.9
        }
    })
