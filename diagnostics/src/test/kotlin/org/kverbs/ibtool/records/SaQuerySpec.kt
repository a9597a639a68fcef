package org.kverbs.ibtool.records

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import org.kverbs.ibtool.Outcome

/** What the comparison with infiniband-diags does not reach: tables, and what saquery has beyond it. */
class SaQuerySpec :
    FunSpec({
        fun run(line: String) = Outcome("saquery", *line.split(' ').toTypedArray(), "--fabric", "fat-tree:4")

        fun out(line: String): String {
            val outcome = run(line)
            withClue("$outcome") { outcome.status shouldBe 0 }
            return "${outcome.out}"
        }

        test("should show the records that all given fields fit") {
            val switches = out("NR nodeInfo.nodeType=SWITCH")
            Regex("node_type\\.+Switch").findAll(switches).count() shouldBe 20
            switches shouldNotContain "Channel Adapter"
            val one = out("NodeRecord nodeInfo.nodeType=SWITCH lid=2")
            Regex("NodeRecord dump:").findAll(one).count() shouldBe 1
            val json = Json.parseToJsonElement(out("LR fromLID=1 --json")).jsonArray
            json.size shouldBe 1
            json.single().jsonObject["fromLID"].toString() shouldBe "1"
        }

        test("should find nodes by their names, LIDs and GUIDs") {
            val lid = out("-L H-5").trim()
            out("-O $lid").trim() shouldBe "H-5"
            out("-U ${out("-G H-5").trim()}").trim() shouldBe "H-5"
            out("-D").lines().count { "\"H-" in it } shouldBe 16
            out("PIR H-5/1") shouldContain "EndPortLid..............$lid\n"
            out("--src-to-dst H-5:H-6") shouldContain "slid....................$lid\n"
        }

        test("should show the port of the subnet manager alone") {
            val ports = out("-s").substringBefore("IsSMdisabled")
            Regex("EndPortLid").findAll(ports).count() shouldBe 1
        }

        for ((line, message) in listOf(
            "NR nodeInfo.nodeTyp=SWITCH" to "NodeRecord has no field nodeInfo.nodeTyp; is it nodeInfo.nodeType?",
            "NR --mtu 4" to "NodeRecord has nothing that --mtu asks for",
            "NR 1 2" to "NodeRecord takes 1 places",
            "PIR 1/2/3/4" to "1/2/3/4 has more parts",
            "PR mtu=fast" to "fast",
        )) {
            test("should refuse a query that no record can fit: $line") {
                val outcome = run(line)
                withClue("$outcome") { outcome.status shouldBe 2 }
                "${outcome.err}" shouldContain message
            }
        }

        test("should say that no node has a name, as infiniband-diags, with its exit status") {
            val outcome = run("PIR H-99/1")
            outcome.status shouldBe 64
            "${outcome.err}" shouldContain "Failed to find lid for \"H-99\""
        }
    })
