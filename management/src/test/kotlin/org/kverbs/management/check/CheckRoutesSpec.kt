package org.kverbs.management.check

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.ints.shouldBeLessThanOrEqual
import io.kotest.matchers.longs.shouldBeLessThanOrEqual
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.runBlocking
import org.kverbs.management.fabric.fabric
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.structures.LinearForwardingTable
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.SwitchInfo
import org.kverbs.management.subnet.answerOf
import org.kverbs.management.subnet.discover
import org.kverbs.management.subnet.forwardingTables
import org.kverbs.management.subnet.hostInfo
import org.kverbs.management.subnet.lying
import org.kverbs.management.subnet.switchInfo
import org.kverbs.management.subnet.upPort
import org.kverbs.structures.Lid
import org.kverbs.structures.copy
import kotlin.random.Random

/** Two switches with four links between them, a host at the first one and eight at the second one. */
private fun parallel() =
    simulatedFabric {
        switch("S-1", 12)
        switch("S-2", 12)
        for (port in 1..4) link("S-1", port, "S-2", port)
        host("H-0")
        link("H-0", 1, "S-1", 5)
        for (number in 1..8) {
            host("H-$number")
            link("H-$number", 1, "S-2", 4 + number)
        }
        subnetManager()
    }

class CheckRoutesSpec :
    FunSpec({
        test("should find nothing wrong with a fat tree, and count its pairs by the switches on the way") {
            simulatedFabric {
                fatTree(4)
                subnetManager()
            }.use { simulation ->
                val report = simulation.fabric("H-1").use { it.tables().checkRoutes() }
                report.isClean shouldBe true
                report.pairs shouldBe 240
                report.hopCounts shouldBe mapOf(1 to 16L, 3 to 32L, 5 to 192L)
                report.detours shouldBe 0
            }
        }

        test("should not call the routes of ports without a LID clean") {
            simulatedFabric { fatTree(4) }.use { simulation ->
                val report = simulation.fabric("H-1").use { it.tables().checkRoutes() }
                report.pairs shouldBe 0
                report.portsWithoutLid shouldBe 16
                report.isClean shouldBe false
                "$report" shouldContain "16 ports without a LID"
            }
        }

        test("should find the two credit loops of a ring, in each direction one") {
            simulatedFabric {
                torus(5)
                subnetManager()
            }.use { simulation ->
                val loops =
                    simulation
                        .fabric("H-1")
                        .use { it.tables().checkRoutes() }
                        .creditLoops
                loops shouldHaveSize 2
                for (loop in loops) {
                    loop.hops shouldHaveSize 5
                    loop.hops.zipWithNext { one, next -> one.into.node shouldBe next.out.node }
                    loop.hops.last().into.node shouldBe loop.hops.first().out.node
                }
            }
        }

        test("should find pairs whose way ends, and pairs whose way is a circle") {
            parallel().use { simulation ->
                simulation.fabric("H-0").use { fabric ->
                    val subnet = fabric.discover()
                    fabric.lead(subnet.named("S-1"), subnet.lidOf("H-1"), 255)
                    fabric.lead(subnet.named("S-2"), subnet.lidOf("H-0"), 1)
                    fabric.lead(subnet.named("S-1"), subnet.lidOf("H-0"), 1)
                    val report = fabric.forwardingTables(subnet).checkRoutes()
                    report.pairs shouldBe 72
                    report.unreachableCount shouldBe 1 + 8
                    report.circleCount shouldBe 8
                    report.creditLoops.shouldBeEmpty()
                    report.unreachable shouldHaveSize 9
                    report.unreachable.single { it.to.node.name == "H-1" }.text shouldContain "has no entry for the LID"
                    report.unreachable.first { it.isCircle }.text shouldContain "in a circle"
                }
            }
        }

        test("should describe no more unreachable pairs than it is told, and count all") {
            parallel().use { simulation ->
                simulation.fabric("H-0").use { fabric ->
                    val subnet = fabric.discover()
                    fabric.lead(subnet.named("S-2"), subnet.lidOf("H-0"), 9)
                    val report = fabric.forwardingTables(subnet).checkRoutes(maxUnreachable = 3)
                    report.unreachable shouldHaveSize 3
                    report.unreachableCount shouldBe 8
                }
            }
        }

        test("should find a switch that leads all LIDs to one of four ports") {
            parallel().use { simulation ->
                simulation.fabric("H-0").use { fabric ->
                    val subnet = fabric.discover()
                    fabric.forwardingTables(subnet).checkRoutes().unbalanced.shouldBeEmpty()
                    for (number in 1..8) fabric.lead(subnet.named("S-1"), subnet.lidOf("H-$number"), 3)
                    val found = fabric.forwardingTables(subnet).checkRoutes().unbalanced.single()
                    found.busy shouldBe subnet.named("S-1").port(3)
                    listOf(found.busyLids, found.idleLids, found.movable) shouldBe listOf(8, 0, 8)
                    fabric.forwardingTables(subnet).checkRoutes(imbalance = 100.0).unbalanced shouldHaveSize 1
                }
            }
        }

        test("should report that a LID which two ports have reaches one of them only") {
            parallel().use { simulation ->
                simulation.fabric("H-0").use { fabric ->
                    simulation.setLid("H-2", 1, fabric.discover().lidOf("H-1"))
                    val report = fabric.tables().checkRoutes()
                    report.unreachable.first { it.to.node.name == "H-2" }.text shouldContain "which has it, too"
                }
            }
        }

        test("should refuse an imbalance below 1, and a negative number of pairs") {
            parallel().use { simulation ->
                val tables = simulation.fabric("H-0").use { it.tables() }
                shouldThrow<IllegalArgumentException> { tables.checkRoutes(imbalance = 0.5) }
                shouldThrow<IllegalArgumentException> { tables.checkRoutes(maxUnreachable = -1) }
            }
        }

        for (seed in 1..10) {
            test("should end with an answer whatever the tables of a fabric without end are (seed $seed)") {
                val random = Random(seed)
                val endless =
                    lying { question ->
                        val answer =
                            answerOf(question) { hops ->
                                val guid = hops.fold(1L) { hash, hop -> hash * 31 + hop % 5 } % 200
                                val arrival = if (hops.isEmpty()) 0 else 1 + random.nextInt(8)
                                if (guid % 3 == 0L) hostInfo(guid * 16, 1) else switchInfo(guid * 16 + 8, 8, arrival)
                            }
                        when {
                            question.attribute == LinearForwardingTable.attributeId -> {
                                LinearForwardingTable { for (at in 0 until 64) portBlock[at] = random.nextInt(12) }
                            }

                            answer is SwitchInfo -> {
                                SwitchInfo { linearFDBTop = 0xbfff.coerceAtMost(random.nextInt(0x400)) }
                            }

                            answer is PortInfo -> {
                                upPort.copy {
                                    lid = Lid(1 + random.nextInt(0x300))
                                    lmc = random.nextInt(8)
                                }
                            }

                            else -> {
                                answer
                            }
                        }
                    }
                val report =
                    runBlocking {
                        fabric(endless).let { fabric ->
                            fabric.forwardingTables(fabric.discover(maxNodes = 100), multicast = false).checkRoutes()
                        }
                    }
                report.unreachableCount shouldBeLessThanOrEqual report.pairs
                report.unreachable.size shouldBeLessThanOrEqual 100
                report.creditLoops.size shouldBeLessThanOrEqual 64
            }
        }
    })
