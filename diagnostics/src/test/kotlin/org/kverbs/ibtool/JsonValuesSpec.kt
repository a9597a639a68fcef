package org.kverbs.ibtool

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.collections.shouldNotContain
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.kverbs.ibtool.session.unsigned
import org.kverbs.management.structures.PKeyTable
import org.kverbs.management.structures.PortCounters

/** JSON says what the text says, in one value, or the combination is refused. */
class JsonValuesSpec :
    FunSpec({
        fun run(line: String) = Outcome(*line.split(' ').toTypedArray(), "--fabric", "hosts:2")

        fun json(line: String) = Json.parseToJsonElement("${run("$line --json").out}")

        test("should put what a dry run would reset into the one list of JSON") {
            val list = json("perfquery -R --dry-run 2 1") as JsonArray
            list.single().jsonObject.keys shouldBe setOf("would")
            (json("perfquery -r --dry-run 2 1,2") as JsonArray) shouldHaveSize 4
            (json("perfquery -R -X --dry-run 2 1") as JsonArray) shouldHaveSize 1
        }

        test("should print thresholds as JSON") {
            val alone = json("ibcheckerrs -s").jsonObject.getValue("thresholds").jsonObject
            alone.getValue("VL15Dropped").jsonPrimitive.content shouldBe "100"
            json("ibcheckerrs -s 2 1").jsonObject.keys shouldContain "thresholds"
        }

        test("should print a counter with its highest bit as a number from 0 up") {
            "${unsigned(-1)}" shouldBe "18446744073709551615"
            "${unsigned(Long.MIN_VALUE)}" shouldBe "9223372036854775808"
        }

        test("should have the problems of partitions in JSON, as the text has them") {
            val line = "check --skip routes,multicast --json".split(' ').toTypedArray()
            val outcome = Outcome(*line, "--fabric", "hosts:2", between = { Refusing(it, 0x01, PKeyTable.attributeId) })
            withClue("$outcome") { outcome.status shouldBe 1 }
            val problems = Json.parseToJsonElement("${outcome.out}").jsonObject.getValue("problems").jsonArray
            problems.isEmpty() shouldBe false
        }

        test("should have the nodes on a way that tell no counters in JSON") {
            val line = "check --path 1 3 --json".split(' ').toTypedArray()
            val outcome =
                Outcome(*line, "--fabric", "hosts:2", between = { Refusing(it, 0x04, PortCounters.attributeId) })
            val way = Json.parseToJsonElement("${outcome.out}").jsonObject.getValue("path").jsonObject
            withClue("$outcome") { way.getValue("failures").jsonArray shouldHaveSize 3 }
        }

        test("should list the nodes of one kind as JSON") {
            for ((option, type) in listOf("-H" to "ca", "-S" to "switch")) {
                val nodes = json("ibnetdiscover $option").jsonObject.getValue("nodes").jsonArray
                nodes.map { it.jsonObject.getValue("type").jsonPrimitive.content }.distinct() shouldBe listOf(type)
            }
        }

        test("should show in JSON the links alone that are down") {
            val ports =
                json("iblinkinfo -d").jsonObject.getValue("nodes").jsonArray.flatMap {
                    (it as JsonObject).getValue("ports").jsonArray
                }
            val states = ports.map { it.jsonObject.getValue("state").jsonPrimitive.content }
            states shouldNotContain "ACTIVE"
        }

        for ((line, text) in listOf(
            "ibnetdiscover -p --json" to "--diff and --ports print text alone",
            "ibnetdiscover --diff /dev/null --json" to "--diff and --ports print text alone",
            "iblinkinfo --diff /dev/null --json" to "--diff prints text alone",
            "subnet_diff /dev/null /dev/null --cache c" to "two files are compared, and no fabric is looked at",
            "perfquery --cycles 2" to "--cycles needs --watch SECONDS",
        )) {
            test("should refuse options that do not fit each other: $line") {
                val outcome = run(line)
                withClue("$outcome") { outcome.status shouldBe 2 }
                "${outcome.err}" shouldContain text
            }
        }

        test("should say what a dry run of ibqueryerrors would set, and a real one what it sets") {
            "${run("ibqueryerrors -k -K --dry-run").out}" shouldContain
                "would set the counters of errors and traffic of 7 nodes to zero\n"
            json("ibqueryerrors -k --dry-run").jsonObject.keys shouldContain "would"
            "${run("ibqueryerrors -k").err}" shouldContain
                "ibqueryerrors: sets the counters of errors of 7 nodes to zero"
            "${run("ibqueryerrors").err}" shouldNotContain "zero"
        }

        test("should say on standard error what is reset") {
            "${run("perfquery -R 2 1").err}" shouldContain "perfquery: resets the counters 0x"
            "${run("perfquery -R -X 2 1").err}" shouldContain "perfquery: resets PortXmitDataSL of "
            "${run("sminfo 1 5").err}" shouldContain "sminfo: sets "
        }
    })
