package org.kverbs.ibtool.check

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldMatch
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.kverbs.ibtool.LyingFabric
import org.kverbs.ibtool.Outcome
import org.kverbs.ibtool.health.PortText
import org.kverbs.ibtool.hostileNet
import org.kverbs.ibtool.session.NodeNames
import org.kverbs.ibtool.smallFabric
import org.kverbs.management.check.DEFAULT_IMBALANCE
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.fabric.fabric
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.structures.LinearForwardingTable
import org.kverbs.management.structures.MulticastForwardingTable
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.discover
import java.nio.file.Path
import kotlin.io.path.readText
import kotlin.io.path.writeText

private val names = NodeNames.read(null) {}

private suspend fun Fabric.report(
    subnet: Subnet,
    expected: Subnet? = null,
): CheckReport = FabricChecks(this, subnet) {}.all(emptySet(), DEFAULT_IMBALANCE, 100, expected)

private fun text(report: CheckReport) = CheckText(PortText(names)).of(report)

class CheckSpec :
    FunSpec({
        test("should find nothing wrong with a fat tree") {
            val outcome = Outcome("check", "--fabric", "fat-tree:4")
            withClue("$outcome") { outcome.status shouldBe 0 }
            outcome.out.lines().take(4) shouldContainExactly
                listOf(
                    "routes: 240 pairs of ports, 0 unreachable, 0 of them in a circle, 0 credit loops, " +
                        "0 unbalanced switches",
                    "routes: 16 pairs over 1 switches",
                    "routes: 32 pairs over 3 switches",
                    "routes: 192 pairs over 5 switches",
                )
        }

        test("should find the credit loops of a ring") {
            val outcome = Outcome("check", "--fabric", "torus:5")
            outcome.status shouldBe 1
            outcome.out.lines().filter { it.startsWith("credit loop: ") } shouldHaveSize 2
        }

        test("should find pairs that do not reach each other, and a multicast group with a circle") {
            smallFabric().use { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    val subnet = fabric.discover()
                    val switches = subnet.switches
                    val lid = subnet.hosts.first { it.name == "H-4" }.ports.first().lid.value
                    val table = fabric.get<LinearForwardingTable>(switches[1].path, lid / 64)
                    table.portBlock[lid % 64] = 1
                    fabric.set(switches[1].path, table, lid / 64)
                    for (switch in switches) {
                        fabric.set(switch.path, MulticastForwardingTable { portMaskBlock[0] = 0b110 })
                    }
                    val report = fabric.report(subnet)
                    report.isBad shouldBe true
                    val text = text(report)
                    text shouldContain "3 unreachable, 3 of them in a circle"
                    text shouldContain "group 0xc000: 1 links close a circle"
                    text shouldContain "in a circle"
                    Json.parseToJsonElement("${CheckJson(names).of(report)}")
                }
            }
        }

        test("should follow a way hop by hop, with the counters of its ports") {
            val outcome = Outcome("check", "--path", "H-1", "H-16", "--fabric", "fat-tree:4", "--json")
            outcome.status shouldBe 0
            val way = Json.parseToJsonElement("${outcome.out}").jsonObject.getValue("path").jsonObject
            val hops = way.getValue("hops").jsonArray
            hops shouldHaveSize 6
            val last = hops.last().jsonObject.getValue("into").jsonObject
            last.getValue("name").jsonPrimitive.content shouldBe "H-16"
            last.getValue("errors").jsonObject.getValue("SymbolErrorCounter").jsonPrimitive.content shouldBe "0"
            "${Outcome("check", "--path", "H-1", "H-16", "--fabric", "fat-tree:4").out}" shouldContain
                Regex("\nto \"H-16\" 0x\\w{16}\n$")
        }

        test("should compare a fabric with the planned one by names: what it printed, and what is different") {
            val folder = Path.of("${tempdir()}")
            val planned = folder.resolve("planned")
            Outcome("ibnetdiscover", "--fabric", "hosts:6", "$planned").status shouldBe 0
            val same = Outcome("check", "--fabric", "hosts:6", "--expect", "$planned")
            withClue("$same") { same.status shouldBe 0 }
            "${same.out}" shouldContain "expected: the fabric is as expected\n"

            planned.writeText(planned.readText().replace("\"H-3\"", "\"H-33\""))
            val other = Outcome("check", "--fabric", "hosts:6", "--expect", "$planned", "--skip", "partitions")
            other.status shouldBe 1
            val lines = other.out.lines().map { it.take(12) }
            lines.filter { it.startsWith("+") || it.startsWith("-") } shouldContainExactly
                listOf("- node \"H-33", "+ node \"H-3\"", "- link \"H-33", "+ link \"H-3\"").map { it.take(12) }

            val saved = folder.resolve("saved")
            Outcome("ibnetdiscover", "--fabric", "hosts:6", "--cache", "$saved").status shouldBe 0
            Outcome("check", "--fabric", "hosts:6", "--expect", "$saved").status shouldBe 0
        }

        test("should refuse an expected topology that is none, and name the file") {
            val file = Path.of("${tempdir()}", "nonsense")
            file.writeText("Switch 4\n")
            val outcome = Outcome("check", "--fabric", "hosts:2", "--expect", "$file")
            outcome.status shouldBe 2
            "${outcome.err}" shouldContain "nonsense has no topology that can be read"
            Outcome("check", "--fabric", "hosts:2", "--expect", "$file.not").status shouldBe 2
        }

        test("should print nothing of a hostile name that moves a cursor or breaks JSON") {
            val net = "${hostileNet(Path.of("${tempdir()}"))}"
            for (words in listOf(listOf("--json"), listOf("--expect", net), listOf("--expect", net, "--json"))) {
                val outcome = Outcome("check", "--fabric", net, *words.toTypedArray())
                withClue("$outcome") { outcome.out.filter { it != '\n' }.toString() shouldMatch "[ -~]*" }
                if ("--json" in words) Json.parseToJsonElement("${outcome.out}")
            }
        }

        test("should end with an answer in a fabric without end that lies") {
            fabric(LyingFabric()).use { fabric ->
                val report = fabric.report(fabric.discover(maxNodes = 200, maxPorts = 20_000))
                report.isBad shouldBe true
                text(report).filter { it != '\n' } shouldMatch "[ -~]*"
                Json.parseToJsonElement("${CheckJson(names).of(report)}")
            }
        }

        test("should say what of a planned topology is not linked with the rest") {
            val file = Path.of("${tempdir()}", "parts")
            simulatedFabric {
                switch("S-1", 4)
                host("H-1")
                host("H-2")
                link("H-1", 1, "S-1", 1)
            }.use { file.writeText(it.netFile()) }
            val outcome = Outcome("check", "--fabric", "hosts:2", "--expect", "$file")
            "${outcome.err}" shouldContain "1 of 3 nodes of"
        }
    })
