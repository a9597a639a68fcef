package org.kverbs.ibtool.fabric

import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.kverbs.ibtool.Outcome
import org.kverbs.management.simulation.simulatedFabric
import java.nio.file.Path
import kotlin.io.path.readText
import kotlin.io.path.writeText

class IbNetDiscoverSpec :
    FunSpec({
        test("should list the nodes of a generated fabric") {
            val outcome = Outcome("ibnetdiscover", "--fabric", "hosts:2", "-H")
            "${outcome.out}" shouldBe
                """
                Ca	 : 0x0200000010000020 ports 1 devid 0x1 vendid 0x0 "H-2"
                Ca	 : 0x0200000010000010 ports 1 devid 0x1 vendid 0x0 "H-1"

                """.trimIndent()
            outcome.status shouldBe 0
        }

        test("should print a topology that --fabric reads again as the same fabric") {
            val file = Path.of("${tempdir()}", "fabric.net")
            Outcome("ibnetdiscover", "--fabric", "dragonfly:3,2,2", "$file").status shouldBe 0
            val again = Outcome("ibnetdiscover", "--fabric", "$file", "-C", "H-1")
            again.status shouldBe 0
            again.out.lines().filter { it.startsWith("[") } shouldBe
                file.readText().lines().filter { it.startsWith("[") }
        }

        test("should print JSON with --json") {
            val outcome = Outcome("ibnetdiscover", "--fabric", "fat-tree:4", "--json")
            val subnet = Json.parseToJsonElement("${outcome.out}").jsonObject
            val nodes = checkNotNull(subnet["nodes"]).jsonArray
            nodes.size shouldBe 36
            nodes.count { it.jsonObject["type"]?.jsonPrimitive?.content == "switch" } shouldBe 20
        }

        test("should show what changed since a topology was saved") {
            val folder = Path.of("${tempdir()}")
            Outcome("ibnetdiscover", "--fabric", "fat-tree:2", "--cache", "$folder/cache").status shouldBe 0
            val net = folder.resolve("net")
            val text = StringBuilder()
            simulatedFabric { fatTree(2) }.use { text.append(it.netFile()) }
            net.writeText(text.lines().filterNot { "\"H-2\"[1]" in it || "[1]\t\"S-2\"[1]" in it }.joinToString("\n"))
            val outcome = Outcome("ibnetdiscover", "--fabric", "$net", "--diff", "$folder/cache", "-C", "H-1")
            outcome.status shouldBe 0
            "${outcome.out}" shouldContain "< [1]\t\"H-0200000010000020\"[1]"
            "${outcome.out}" shouldContain "< caguid=0x200000010000020\n< Ca\t1 \"H-0200000010000020\""
        }

        test("should give nodes the names of the map, without what moves a cursor") {
            val map = Path.of("${tempdir()}", "map")
            map.writeText("# names\n0x200000010000010 \"first\u001b[2J host\" # the first\n")
            val outcome = Outcome("ibnetdiscover", "--fabric", "hosts:1", "-H", "--node-name-map", "$map")
            "${outcome.out}" shouldContain "\"first?[2J host\"\n"
        }

        test("should refuse a generator that it does not know, and name those that it knows") {
            val outcome = Outcome("ibnetdiscover", "--fabric", "mesh:4")
            outcome.status shouldBe 2
            "${outcome.err}" shouldContain "give a net file, fat-tree:K, hosts:N, torus:N,N,..."
        }
    })
