package org.kverbs.ibtool.query

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import io.kotest.matchers.string.shouldStartWith
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.kverbs.ibtool.Outcome

class QuerySpec :
    FunSpec({
        fun run(line: String) = Outcome("query", *line.split(' ').toTypedArray(), "--fabric", "fat-tree:4")

        fun out(line: String): String {
            val outcome = run(line)
            withClue("$outcome") { outcome.status shouldBe 0 }
            return "${outcome.out}"
        }

        fun json(line: String): JsonArray = Json.parseToJsonElement(out("$line --json")).jsonArray

        fun refused(line: String): String {
            val outcome = run(line)
            withClue("$outcome") { outcome.status shouldBe 2 }
            return "${outcome.err}"
        }

        test("should ask a node for any attribute, as smpquery does for those that it knows") {
            for (words in listOf("NodeInfo 5", "ni 5", "SMPNodeInfo 5".drop(3), "NodeInfo -D 0")) {
                out(words) shouldStartWith "BaseVers:........................1\n"
            }
            val smpquery = Outcome("smpquery", "nodeinfo", "5", "--fabric", "fat-tree:4")
            out("NodeInfo 5") shouldBe smpquery.out.lines().drop(1).joinToString("\n")
            out("PortInfo 2 3") shouldContain "LocalPort"
            json("SwitchInfo 2").single().jsonObject["linearFDBCap"].toString() shouldBe "49152"
        }

        test("should write the fields of the question that are given") {
            out("PortCounters 2 portSelect=2") shouldContain "PortSelect:......................2\n"
            json("PortCounters -D 0,1 portSelect=2").single().jsonObject["portSelect"].toString() shouldBe "2"
        }

        test("should show all records whose fields are as it is said, and none") {
            json("NodeRecord").size shouldBe 36
            json("NR nodeInfo.nodeType=SWITCH").size shouldBe 20
            json("NR lid=4").single().jsonObject["lid"].toString() shouldBe "4"
            json("ServiceRecord serviceName=none").size shouldBe 0
            json("PathRecord slid=1 dlid=5").single().jsonObject["dlid"].toString() shouldBe "5"
            run("ServiceRecord serviceName=none").let { "${it.out}" shouldBe "" }
        }

        test("should ask this port without an address") {
            out("NodeDescription") shouldContain "H-1"
        }

        test("should list what can be asked for, and the fields of one") {
            out("--list") shouldContain "PortCounters                       0x0012 of 0x04 version 1: Get, Set\n"
            out("--list counters") shouldNotContain "NodeInfo"
            json("--list").map { it.jsonObject.getValue("name").jsonPrimitive.content } shouldContain "CongestionInfo"
            out("NodeRecord --fields") shouldContain "nodeInfo.nodeType                         8 bits  NodeType\n"
            json("VLArbitrationTable --fields").size shouldBeGreaterThan 1
        }

        test("should choose between the classes of an attribute") {
            refused("ClassPortInfo 2") shouldContain "--class 0x04 (PERF(4))"
            out("ClassPortInfo 2 --class 4") shouldContain "ClassVersion:....................1\n"
            out("ClassPortInfo 1 --class 3") shouldContain "ClassVersion:....................2\n"
            refused("PortCounters 2 --class 3") shouldContain "SUBN_ADM(3)"
        }

        test("should show no key without -K") {
            out("PortInfo 2 0") shouldContain "Mkey:............................<not displayed>\n"
            out("PortInfo 2 0 -K") shouldContain "Mkey:............................0x0000000000000000\n"
            json("PortInfo 2 0").single().jsonObject.keys.contains("mKey") shouldBe false
            json(
                "PIR portNum=1 endportLID=2",
            ).single().jsonObject.getValue("portInfo").jsonObject.keys.contains("mKey") shouldBe
                false
            json("PortInfo 2 0 -K").single().jsonObject.keys.contains("mKey") shouldBe true
            run("PortInfo 2 0 --dump").let {
                "${it.out}" shouldContain "mKey=0\n"
                "${it.err}" shouldContain "keys are shown as 0 without -K"
            }
        }

        test("should name what is not there, and what is like it") {
            refused("NodeInf 2") shouldContain "is it NodeInfo?"
            refused("Prtcounters 2") shouldContain "no attribute is called Prtcounters"
            refused("PortCounters 2 portselect=1") shouldContain "is it portSelect?"
            refused("NodeRecord 4") shouldContain "say by FIELD=VALUE"
            refused("NodeInfo 1 2 3") shouldContain "takes a node and a modifier"
            refused("PortCounters 2 portSelect=256") shouldContain "256"
            refused("PortInfo 2 many") shouldContain "many"
            run("").status shouldBe 2
        }
    })
