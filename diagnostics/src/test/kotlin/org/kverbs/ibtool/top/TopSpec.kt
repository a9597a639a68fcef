package org.kverbs.ibtool.top

import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldMatch
import org.kverbs.ibtool.Outcome
import org.kverbs.ibtool.counters.readCounters
import org.kverbs.ibtool.hostileNet
import org.kverbs.ibtool.session.NodeNames
import org.kverbs.ibtool.smallFabric
import org.kverbs.management.subnet.discover
import java.nio.file.Path
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TestTimeSource

class TopSpec :
    FunSpec({
        test("should reckon rates and new errors between two readings, and sort by them") {
            smallFabric().use { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    val ports =
                        fabric
                            .discover()
                            .hosts
                            .map { it.ports.single() }
                    simulation.counters("H-2", 1).symbolErrorCounter = 5
                    val clock = TestTimeSource()
                    val before = fabric.readCounters(ports, clock)
                    simulation.counters("H-2", 1).symbolErrorCounter = 7
                    simulation.counters("H-2", 1).portXmitWait += 1000
                    simulation.counters("H-3", 1).portRcvData += 2_500_000
                    clock += 2.seconds
                    val after = fabric.readCounters(ports, clock)
                    val hidden = setOf("PortXmitWait")
                    val rates =
                        after.all.map { PortRate.between(checkNotNull(before.of(it.port)), it, hidden) }
                    val second = rates.single { it.port.node.name == "H-2" }
                    listOf(second.errors, second.allErrors) shouldBe listOf(2L, 7L)
                    // The answers themselves are packets, but far fewer.
                    val third = rates.single { it.port.node.name == "H-3" }
                    (third.received in 5_000_000.0..5_010_000.0) shouldBe true

                    fun first(order: TopTable.Order) =
                        TopTable(NodeNames.read(null) {}, order, 1)
                            .sorted(rates)
                            .single()
                            .port.node.name
                    first(TopTable.Order.RATE) shouldBe "H-3"
                    first(TopTable.Order.ERRORS) shouldBe "H-2"
                    first(TopTable.Order.ALL_ERRORS) shouldBe "H-2"
                }
            }
        }

        test("should reckon each port's rate with the time between its own two readings") {
            smallFabric().use { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    val ports = fabric.discover().hosts.map { it.ports.single() }.take(2)
                    val clock = TestTimeSource()

                    suspend fun readings(pause: Duration) =
                        ports.map { port ->
                            fabric.readCounters(listOf(port), clock).all.single().also { clock += pause }
                        }
                    val before = readings(2.seconds)
                    ports.forEach { simulation.counters(it.node.name, 1).portRcvData += 2_500_000 }
                    // The second port was read 2 s after the first, and is 1 s after it this time.
                    val after = readings(1.seconds)
                    val received = before.zip(after) { old, new -> PortRate.between(old, new, emptySet()).received }
                    // The answers themselves are packets, but far fewer.
                    (received[0] in 2_500_000.0..2_505_000.0) shouldBe true
                    (received[1] in 3_333_333.0..3_340_000.0) shouldBe true
                }
            }
        }

        test("should print as many tables as it is told, one after the other where there is no terminal") {
            val outcome = Outcome("top", "-n", "2", "--interval", "0.01", "--rows", "3", "--fabric", "hosts:6")
            outcome.status shouldBe 0
            outcome.out.lines().filter { "sent B/s" in it } shouldHaveSize 2
            outcome.out.lines().filter { " port " in it } shouldHaveSize 2 * 3
            outcome.out.filter { it != '\n' }.toString() shouldMatch "[ -~]*"
        }

        test("should print no hostile name that moves a cursor") {
            val net = "${hostileNet(Path.of("${tempdir()}"))}"
            for (words in listOf(emptyList(), listOf("--json"))) {
                val out = Outcome("top", "-n", "1", "--interval", "0.01", "--fabric", net, *words.toTypedArray()).out
                out.filter { it != '\n' }.toString() shouldMatch "[ -~]*"
            }
        }

        test("should refuse an interval of nothing, and an order that there is not") {
            Outcome("top", "--interval", "0", "--fabric", "hosts:2").status shouldBe 2
            Outcome("top", "--sort", "name", "--fabric", "hosts:2").status shouldBe 2
        }
    })
