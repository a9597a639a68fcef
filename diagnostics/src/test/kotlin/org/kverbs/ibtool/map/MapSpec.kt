package org.kverbs.ibtool.map

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldMatch
import io.kotest.matchers.string.shouldNotContain
import io.kotest.matchers.string.shouldStartWith
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.kverbs.ibtool.LyingFabric
import org.kverbs.ibtool.Narrowed
import org.kverbs.ibtool.Outcome
import org.kverbs.ibtool.counters.readCounters
import org.kverbs.ibtool.hostileNet
import org.kverbs.ibtool.session.NodeNames
import org.kverbs.ibtool.smallFabric
import org.kverbs.management.fabric.fabric
import org.kverbs.management.subnet.discover
import org.w3c.dom.Document
import java.nio.file.Path
import javax.xml.parsers.DocumentBuilderFactory
import kotlin.io.path.readText

private val names = NodeNames.read(null) {}

/** Reads a picture as a browser does, and fails if it is not well-formed. */
private fun xml(svg: CharSequence): Document =
    DocumentBuilderFactory.newInstance().newDocumentBuilder().parse("$svg".byteInputStream())

private const val QUOTED = "\"(?:[^\"\\\\]|\\\\.)*\""

/** A statement of a DOT file that has one node or one edge, with quoted texts. */
private val statement =
    Regex("\\s*n\\p{XDigit}{16}(?: -- n\\p{XDigit}{16})? \\[\\w+=$QUOTED(?:, \\w+=(?:$QUOTED|\\w+))*];")

class MapSpec :
    FunSpec({
        test("should draw each node and each pair of linked nodes once") {
            val outcome = Outcome("map", "--fabric", "fat-tree:4")
            withClue("${outcome.err}") { outcome.status shouldBe 0 }
            val picture = xml(outcome.out)
            picture.getElementsByTagName("g").length shouldBe 36
            // 48 links, and 4 lines of the legend: a speed, two states and "not active".
            picture.getElementsByTagName("path").length shouldBe 48 + 4
        }

        test("should write the map to a file, and the language of Graphviz with --dot") {
            val file = Path.of("${tempdir()}", "fabric.dot")
            Outcome("map", "--dot", "--fabric", "fat-tree:4", "$file").status shouldBe 0
            val lines = file.readText().lines()
            lines.filter { " -- " in it } shouldHaveSize 48
            lines.filter { it.trimStart().startsWith("n02") }.filterNot(statement::matches) shouldBe emptyList()
        }

        test("should place no two nodes on each other, and hosts below switches") {
            for (generator in listOf("fat-tree:6", "torus:4,4", "dragonfly:4,3,2", "hosts:1")) {
                val json = Json.parseToJsonElement("${Outcome("map", "--json", "--fabric", generator).out}").jsonObject
                val nodes = json.getValue("nodes").jsonArray.map { it.jsonObject }

                fun number(
                    node: Map<String, kotlinx.serialization.json.JsonElement>,
                    key: String,
                ) = node.getValue(key).jsonPrimitive.content.toInt()
                nodes.map { number(it, "x") to number(it, "y") }.toSet() shouldHaveSize nodes.size
                val (hosts, switches) = nodes.partition { number(it, "level") == 0 }
                (hosts.minOf { number(it, "y") } > switches.maxOf { number(it, "y") }) shouldBe true
            }
        }

        test("should draw no hosts of a big fabric, but tell how many there are") {
            val outcome = Outcome("map", "--fabric", "hosts:250", "--no-counters")
            xml(outcome.out)
            "${outcome.out}" shouldContain ">5 hosts</text>"
            "${outcome.out}" shouldNotContain "H-100"
        }

        test("should colour links with errors and links below their rate") {
            smallFabric().use { simulation ->
                simulation.counters("S-2", 7).symbolErrorCounter = 1
                val port = simulation.fabric("H-1").use { checkNotNull(it.discover().switches.last().port(8)) }
                fabric(Narrowed(simulation.port("H-1"), port)).use { fabric ->
                    val subnet = fabric.discover()
                    val readings = fabric.readCounters(subnet.ports.filter { it.number > 0 && it.peer != null })
                    val map = FabricMap(subnet, names, FabricMap.Wishes(true, readings))
                    map.links.groupingBy { it.state }.eachCount() shouldBe
                        mapOf(MapLink.State.GOOD to 3, MapLink.State.ERRORS to 1, MapLink.State.BELOW_RATE to 1)
                    val svg = SvgMap(map).draw()
                    xml(svg)
                    svg.split("stroke=\"${MapColors.ERRORS}\"") shouldHaveSize 3
                    DotMap(map).write() shouldContain "label=\"2\""
                }
            }
        }

        test("should keep a hostile name within its text, in SVG, in DOT and in JSON") {
            val net = "${hostileNet(Path.of("${tempdir()}"))}"
            val svg = Outcome("map", "--fabric", net).out
            val picture = xml(svg)
            picture.getElementsByTagName("svg").length shouldBe 1
            picture.getElementsByTagName("g").length shouldBe 3
            svg.filter { it != '\n' }.toString() shouldMatch "[ -~]*"
            val dot = Outcome("map", "--dot", "--fabric", net).out
            dot.lines().filter { it.trimStart().startsWith("n0") } shouldHaveSize 5
            dot.lines().filter { it.trimStart().startsWith("n0") }.filterNot(statement::matches) shouldBe emptyList()
            Json.parseToJsonElement("${Outcome("map", "--json", "--fabric", net).out}")
        }

        test("should draw a saved topology without asking for counters") {
            val saved = Path.of("${tempdir()}", "saved")
            Outcome("ibnetdiscover", "--fabric", "hosts:6", "--cache", "$saved").status shouldBe 0
            val outcome = Outcome("map", "--load-cache", "$saved")
            outcome.status shouldBe 0
            "${outcome.out}" shouldStartWith "<svg "
        }

        test("should end with a picture of a fabric without end that lies") {
            fabric(LyingFabric()).use { fabric ->
                val subnet = fabric.discover(maxNodes = 150, maxPorts = 20_000)
                val map = FabricMap(subnet, names, FabricMap.Wishes(true))
                xml(SvgMap(map).draw())
                val statements = DotMap(map).write().lines().filter { it.trimStart().startsWith("n0") }
                statements.filterNot(statement::matches) shouldBe emptyList()
            }
        }
    })
