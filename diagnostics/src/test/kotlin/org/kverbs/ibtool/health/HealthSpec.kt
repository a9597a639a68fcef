package org.kverbs.ibtool.health

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldMatch
import io.kotest.matchers.string.shouldStartWith
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.kverbs.ibtool.LyingFabric
import org.kverbs.ibtool.Narrowed
import org.kverbs.ibtool.Outcome
import org.kverbs.ibtool.hostileNet
import org.kverbs.ibtool.session.NodeNames
import org.kverbs.ibtool.smallFabric
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.fabric.fabric
import org.kverbs.management.simulation.SimulatedFabric
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.structures.LinearForwardingTable
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.subnet.discover
import org.kverbs.structures.Guid
import java.nio.file.Path
import kotlin.io.path.writeText

private val names = NodeNames.read(null) {}

private suspend fun Fabric.health(maxNodes: Int = 1000): HealthReport =
    HealthChecks(this, discover(maxNodes, maxPorts = 20_000), names).run()

private suspend fun SimulatedFabric.health(): HealthReport = use { fabric("H-1") { retries(0) }.use { it.health() } }

private fun HealthReport.texts(check: Finding.Check) = findings.filter { it.check == check }.map { it.text }

class HealthSpec :
    FunSpec({
        test("should find nothing wrong with a good fabric, and exit with 0") {
            val outcome = Outcome("health", "--fabric", "fat-tree:4")
            withClue("$outcome") { outcome.status shouldBe 0 }
            "${outcome.out}" shouldStartWith "OK: 36 nodes, 48 links, 0 critical, 0 warnings | nodes=36 links=48 slow=0"
            outcome.out.lines().drop(1) shouldBe
                listOf("nodes: good", "identities: good", "manager: good", "links: good", "counters: good") +
                listOf("routes: good", "")
        }

        test("should warn of error counters above their thresholds alone") {
            val fabric = smallFabric()
            fabric.counters("S-2", 7).symbolErrorCounter = 7
            fabric.counters("S-2", 7).portXmitWait = 9
            val file = Path.of("${tempdir()}", "limits")
            file.writeText("SymbolErrorCounter=6\nPortXmitWait=9\n")
            val report = fabric.health()
            report.severity shouldBe Severity.WARNING
            report.texts(Finding.Check.COUNTERS).first() shouldContain
                Regex("\"S-2\" 0x\\w{16} port 7: SymbolErrorCounter is 7")
            val limits = org.kverbs.ibtool.counters.Thresholds.read(file) { error(it) }
            limits.isExceeded("SymbolErrorCounter", 7) shouldBe true
            limits.isExceeded("PortXmitWait", 9) shouldBe false
        }

        test("should warn of a link below the width and the speed that both ends have enabled") {
            smallFabric().use { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    val port = checkNotNull(fabric.discover().switches.first { it.name == "S-2" }.port(1))
                    val lying = fabric(Narrowed(simulation.port("H-1"), port))
                    val report = lying.use { it.health() }
                    report.narrowLinks shouldBe 1
                    report.slowLinks shouldBe 1
                    report.texts(Finding.Check.LINKS).first() shouldContain "; both ends have 4xHDR enabled"
                }
            }
        }

        test("should call two nodes with one GUID, and two ports with one LID, critical") {
            val twins = smallFabric()
            twins.setGuid("H-2", Guid(77))
            twins.setGuid("H-3", Guid(77))
            twins.health().findings.count {
                it.severity == Severity.CRITICAL &&
                    it.text.startsWith(
                        "DUPLICATE_GUID",
                    )
            } shouldBe
                1

            val same = smallFabric()
            val lid = same.fabric("H-1").use { it.port().info.lid }
            same.setLid("H-4", 1, lid)
            same.health().texts(Finding.Check.IDENTITIES).single() shouldStartWith "the LID $lid belongs to \"H-1\""
        }

        test("should tell programs, too, that the fabric could not be asked") {
            val metrics = Outcome("health", "--prometheus", "--threshold-file", "/no/file", "--fabric", "hosts:2")
            metrics.status shouldBe 3
            "${metrics.out}" shouldContain "\nibtool_health_status 3\n"
            val json = Outcome("health", "--json", "--threshold-file", "/no/file", "--fabric", "hosts:2")
            json.status shouldBe 3
            "${json.out}" shouldContain "\"status\": \"UNKNOWN\""
        }

        test("should call a fabric without a subnet manager critical, and one whose manager is silent") {
            val without =
                simulatedFabric {
                    switch("S-1", 4)
                    host("H-1")
                    link("H-1", 1, "S-1", 1)
                }.health()
            without.severity shouldBe Severity.CRITICAL
            without.texts(Finding.Check.MANAGER) shouldBe listOf("this port knows no subnet manager")

            val silent = smallFabric()
            val report =
                silent.use {
                    it.fabric("H-4") { retries(0) }.use { fabric ->
                        val subnet = fabric.discover()
                        it.mute("H-1")
                        HealthChecks(fabric, subnet, names, HealthChecks.Wishes()).run()
                    }
                }
            report.texts(Finding.Check.MANAGER).single() shouldContain "does not answer"
            report.texts(Finding.Check.COUNTERS).single() shouldContain "\"H-1\""
        }

        test("should call routes that do not arrive critical") {
            val report =
                smallFabric().use { simulation ->
                    simulation.fabric("H-1").use { fabric ->
                        val subnet = fabric.discover()
                        val switch = subnet.switches.first { it.name == "S-1" }
                        val lid = fabric.get<PortInfo>(subnet.hosts.first { it.name == "H-4" }.path).lid.value
                        val table = fabric.get<LinearForwardingTable>(switch.path, lid / 64)
                        table.portBlock[lid % 64] = 255
                        fabric.set(switch.path, table, lid / 64)
                        HealthChecks(fabric, subnet, names).run()
                    }
                }
            report.severity shouldBe Severity.CRITICAL
            report.texts(Finding.Check.ROUTES).single() shouldStartWith
                "2 of 12 pairs of ports do not reach each other, such as \"H-1\""
        }

        test("should warn of the credit loops of a ring, and exit with 1") {
            val outcome = Outcome("health", "--fabric", "torus:5", "--json")
            outcome.status shouldBe 1
            val json = Json.parseToJsonElement("${outcome.out}").jsonObject
            json.getValue("status").jsonPrimitive.content shouldBe "WARNING"
            json.getValue("findings").jsonArray.map { it.jsonObject.getValue("check").jsonPrimitive.content } shouldBe
                listOf("routes", "routes")
            Outcome("health", "--fabric", "torus:5", "--skip", "routes").status shouldBe 0
        }

        test("should exit with 3 where the fabric cannot be asked, and with 2 for a wrong command line") {
            Outcome("health", "--fabric", "hosts:2", "-C", "nobody").status shouldBe 3
            Outcome("health", "--fabric", "hosts:2", "--skip", "nonsense").status shouldBe 2
            Outcome("health", "--fabric", "hosts:2", "--imbalance", "0").status shouldBe 2
        }

        test("should write metrics that follow the rules of Prometheus, with the counters of each port") {
            val outcome = Outcome("health", "--fabric", "hosts:6", "--prometheus")
            outcome.status shouldBe 0
            faults("${outcome.out}").shouldBeEmpty()
            "${outcome.out}" shouldContain "\nibtool_health_status 0\n"
            "${outcome.out}" shouldContain
                Regex(
                    "ibtool_port_errors_total\\{guid=\"0x\\w{16}\",port=\"1\",name=\"H-1\"," +
                        "counter=\"VL15Dropped\"} 0\n",
                )
        }

        test("should let no hostile name out of a label, a text or JSON") {
            val net = "${hostileNet(Path.of("${tempdir()}"))}"
            val metrics = Outcome("health", "--fabric", net, "--prometheus")
            faults("${metrics.out}").shouldBeEmpty()
            "${metrics.out}" shouldContain "name=\" [2J}\\\\n|{<svg"
            for (option in listOf("-v", "--json", "--prometheus")) {
                val text = "${Outcome("health", "--fabric", net, option, "--skip", "links").out}"
                text.filter { it != '\n' } shouldMatch "[ -~]*"
            }
            Outcome("health", "--fabric", net).out.lines().drop(1).filter { '|' in it }.shouldBeEmpty()
        }

        test("should end with an answer in a fabric without end that lies") {
            val report = fabric(LyingFabric()).use { it.health(maxNodes = 200) }
            report.severity shouldBe Severity.CRITICAL
            HealthText.of(report, true).filter { it != '\n' } shouldMatch "[ -~]*"
            faults(HealthMetrics(names).of(report)).shouldBeEmpty()
        }

        test("should find the faults of metrics in this spec itself") {
            faults("a 1\n") shouldBe listOf("a 1: no TYPE before it")
            faults("# TYPE a gauge\na{b=\"\"\"} 1\n") shouldBe listOf("a{b=\"\"\"} 1: no sample")
            faults("# TYPE a gauge\na 1\na 2\n") shouldBe listOf("a 2: twice")
            faults("# TYPE a gauge\na 1") shouldBe listOf("no newline at the end")
            faults("# TYPE a counter\na 1\n") shouldBe listOf("# TYPE a counter: a counter ends with _total")
        }
    })

private val sample = Regex("([a-zA-Z_:][a-zA-Z0-9_:]*)(\\{(?:$LABEL(?:,$LABEL)*)?})? (-?\\d+(?:\\.\\d+)?)")
private const val LABEL = "[a-zA-Z_][a-zA-Z0-9_]*=\"(?:[^\"\\\\\n]|\\\\[\\\\\"n])*\""
private val type = Regex("# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (gauge|counter)")
private val help = Regex("# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) [^\\\\]+")

/** What is against the rules of Prometheus' text format, version 0.0.4. */
internal fun faults(text: String): List<String> {
    val faults = ArrayList<String>()
    val seen = HashSet<String>()
    val types = HashSet<String>()
    var current = ""
    if (!text.endsWith("\n")) faults += "no newline at the end"
    for (line in text.removeSuffix("\n").split('\n')) {
        val typed = type.matchEntire(line)
        val match = sample.matchEntire(line)
        when {
            typed != null -> {
                current = typed.groupValues[1]
                if (!types.add(current)) faults += "$line: twice"
                val isCounter = typed.groupValues[2] == "counter"
                if (isCounter != current.endsWith("_total")) faults += "$line: a counter ends with _total"
            }

            line.startsWith("#") -> {
                if (!help.matches(line)) faults += "$line: no HELP and no TYPE"
            }

            match == null -> {
                faults += "$line: no sample"
            }

            match.groupValues[1] != current -> {
                faults += "$line: no TYPE before it"
            }

            !seen.add(match.groupValues[1] + match.groupValues[2]) -> {
                faults += "$line: twice"
            }
        }
    }
    return faults
}
