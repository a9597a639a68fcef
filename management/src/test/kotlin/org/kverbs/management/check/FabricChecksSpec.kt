package org.kverbs.management.check

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.runBlocking
import org.kverbs.management.path.LidPath
import org.kverbs.management.simulation.SimulatedFabricBuilder
import org.kverbs.management.simulation.SimulatedSpeed
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.structures.PKeyTable
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.SubnetProblemKind
import org.kverbs.management.subnet.discover
import org.kverbs.structures.Lid

/** A triangle of switches, with a host at each. */
private fun triangle() =
    simulatedFabric {
        for (number in 1..3) {
            switch("S-$number", 4)
            host("H-$number")
            link("H-$number", 1, "S-$number", 3)
        }
        link("S-1", 1, "S-2", 2)
        link("S-2", 1, "S-3", 2)
        link("S-3", 1, "S-1", 2)
        subnetManager()
    }

private fun discovered(configure: SimulatedFabricBuilder.() -> Unit): Subnet =
    simulatedFabric(configure).use { simulation -> runBlocking { simulation.fabric("H-1").use { it.discover() } } }

class FabricChecksSpec :
    FunSpec({
        test("should find the tree of a multicast group, and the hosts at it") {
            triangle().use { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    val subnet = fabric.discover()
                    fabric.spread(subnet.named("S-1"), 1, 3)
                    fabric.spread(subnet.named("S-2"), 2, 3)
                    fabric.spread(subnet.named("S-3"))
                    val tree = fabric.tables().multicastTrees().single()
                    tree.lid shouldBe Lid(0xc000)
                    tree.isTree shouldBe true
                    tree.ends.map { it.node.name } shouldContainExactly listOf("H-1", "H-2")
                }
            }
        }

        test("should find the circle, the gap and the links of one direction in a multicast group") {
            triangle().use { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    val subnet = fabric.discover()
                    for (number in 1..3) fabric.spread(subnet.named("S-$number"), 1, 2, 3)
                    val circle = fabric.tables().multicastTrees().single()
                    listOf(circle.parts, circle.loopLinks) shouldBe listOf(1, 1)

                    fabric.spread(subnet.named("S-3"), 3)
                    val torn = fabric.tables().multicastTrees().single()
                    listOf(torn.parts, torn.loopLinks, torn.oneSided.size) shouldBe listOf(2, 0, 2)
                    torn.isTree shouldBe false
                }
            }
        }

        test("should group the ports by the partitions of their keys") {
            triangle().use { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    val subnet = fabric.discover()
                    for ((host, key) in listOf("H-1" to 0x8012, "H-2" to 0x0012, "H-3" to 0x8013)) {
                        val keys =
                            PKeyTable {
                                pKeyBlock[0] = 0xffff
                                pKeyBlock[3] = key
                            }
                        fabric.set(LidPath(subnet.lidOf(host)), keys)
                    }
                    val found = fabric.partitions(subnet)
                    found.problems.shouldBeEmpty()
                    val own = found.all.filter { it.key != 0x7fff }
                    own.map { Triple(it.key, it.fullMembers.size, it.limitedMembers.size) } shouldBe
                        listOf(Triple(0x12, 1, 1), Triple(0x13, 1, 0))
                    own.map { it.isUseless } shouldBe listOf(false, true)
                }
            }
        }

        test("should report a port that does not tell its partitions") {
            triangle().use { simulation ->
                simulation.fabric("H-1") { retries(0) }.use { fabric ->
                    val subnet = fabric.discover()
                    simulation.mute("H-2")
                    fabric.partitions(subnet).problems.map { it.kind } shouldBe listOf(SubnetProblemKind.NO_ANSWER)
                }
            }
        }

        test("should compare a subnet with the planned one by names, whatever its GUIDs are") {
            val planned =
                discovered {
                    switch("S-1", 4)
                    for (number in 1..3) {
                        host("H-$number")
                        link("H-$number", 1, "S-1", number)
                    }
                }
            val built =
                discovered {
                    switch("S-1", 4)
                    for (number in listOf(4, 2, 1)) {
                        host("H-$number")
                        link("H-$number", 1, "S-1", number, speed = SimulatedSpeed.EDR.takeIf { number == 2 })
                    }
                }
            val diff = built.compareByName(planned)
            diff.missingNodes.map { it.name } shouldBe listOf("H-3")
            diff.unexpectedNodes.map { it.name } shouldBe listOf("H-4")
            diff.missingLinks shouldHaveSize 1
            diff.unexpectedLinks shouldHaveSize 1
            diff.changedLinks.single().fields.joinToString() shouldBe "rate 4xHDR -> 4xEDR"
            "$diff".lines() shouldHaveSize 5
            planned.compareByName(planned).isEmpty shouldBe true
        }

        test("should say which names several nodes have") {
            val twins =
                discovered {
                    switch("S-1", 4)
                    for (number in 1..2) {
                        host("H-$number", description = "twin")
                        link("H-$number", 1, "S-1", number)
                    }
                }
            twins.compareByName(twins).ambiguousNames shouldBe setOf("twin")
        }
    })
