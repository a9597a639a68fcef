package org.kverbs.management.simulation

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeUnique
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.management.path.directed
import org.kverbs.management.path.lid
import org.kverbs.management.structures.LinearForwardingTable
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortCounters
import org.kverbs.management.structures.PortCountersExtended
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortState
import org.kverbs.management.structures.SMInfo
import org.kverbs.management.structures.SMState
import org.kverbs.management.transaction.MadTimeoutException

/** The LIDs of all nodes with one. */
private fun SimulatedFabric.lids() =
    (hosts + switches).associateWith { node -> port(node).use { it.port().info.lid.value } }

class SubnetManagerSpec :
    FunSpec({
        val shapes =
            mapOf<String, SimulatedFabricBuilder.() -> Unit>(
                "a fat tree" to { fatTree(4) },
                "a torus" to { torus(3, 4, hosts = 2) },
                "a ring of two" to { torus(2, hosts = 1) },
                "a dragonfly" to { dragonfly(groups = 5, switches = 2, hosts = 2) },
                "hosts" to { hosts(27) },
            )
        for ((name, shape) in shapes) {
            test("should give each port of $name a LID, and lead everybody to each of them") {
                simulatedFabric {
                    shape()
                    subnetManager()
                }.use { simulation ->
                    val lids = simulation.lids()
                    lids.values.shouldBeUnique()
                    for (from in listOf(simulation.hosts.first(), simulation.hosts.last(), simulation.switches[0])) {
                        simulation.fabric(from) { retries(0) }.use { fabric ->
                            for ((node, lid) in lids) {
                                withClue("$from to $node") {
                                    fabric.get<NodeDescription>(lid(lid)).nodeString shouldBe node
                                    val port = if (node in simulation.hosts) 1 else 0
                                    fabric.get<PortCounters>(lid(lid)) { portSelect = port }.portSelect shouldBe port
                                }
                            }
                        }
                    }
                }
            }
        }

        test("should spread the hosts over the ports that lead up") {
            simulatedFabric {
                fatTree(8)
                subnetManager()
            }.use { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    val lids = simulation.lids()
                    val used = IntArray(9)
                    val far = simulation.hosts.drop(4).map { lids.getValue(it) }
                    for (block in 0..3) {
                        val table = fabric.get<LinearForwardingTable>(directed(0, 1), block)
                        far.filter { it / 64 == block }.forEach { used[table.portBlock[it % 64]]++ }
                    }
                    (5..8).map { used[it] } shouldBe List(4) { far.size / 4 }
                }
            }
        }

        test("should bring links up again after a sweep, and route around what is gone") {
            simulatedFabric {
                fatTree(4)
                subnetManager("H-3")
            }.use { simulation ->
                simulation.fabric("H-1") { retries(0) }.use { fabric ->
                    val far = lid(simulation.lids().getValue("H-16"))
                    val used = fabric.get<PortInfo>(directed(0, 1), 1).portState
                    used shouldBe PortState.ACTIVE
                    simulation.unplug("S-1", 3)
                    fabric.get<PortInfo>(directed(0, 1), 3).portState shouldBe PortState.DOWN
                    simulation.powerOff("S-19")
                    simulation.sweep()
                    fabric.get<NodeInfo>(far).localPortNum shouldBe 1
                    simulation.unplug("S-1", 4)
                    shouldThrow<MadTimeoutException> { fabric.get<NodeInfo>(far) }
                    simulation.plug("S-1", 3)
                    fabric.get<PortInfo>(directed(0, 1), 3).portState shouldBe PortState.INIT
                    simulation.sweep()
                    fabric.get<PortInfo>(directed(0, 1), 3).portState shouldBe PortState.ACTIVE
                    fabric.get<NodeInfo>(far).localPortNum shouldBe 1
                }
            }
        }

        test("should say that it is the master, and of which LID") {
            simulatedFabric {
                fatTree(2)
                subnetManager("H-2", priority = 5)
            }.use { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    val manager = fabric.port().info.masterSMLID
                    val info = fabric.get<SMInfo>(lid(manager.value))
                    info.smState shouldBe SMState.MASTER
                    info.priority shouldBe 5
                    info.guid shouldBe fabric.get<NodeInfo>(lid(manager.value)).portGUID
                }
            }
        }

        test("should refuse a subnet with more ports than LIDs, and a sweep without a manager") {
            val large = {
                simulatedFabric {
                    fatTree(60)
                    subnetManager()
                }
            }
            shouldThrow<IllegalStateException> { large() }.message shouldContain "49151 LIDs"
            shouldThrow<IllegalStateException> { simulatedFabric { fatTree(2) }.sweep() }.message shouldContain
                "subnetManager()"
        }

        test("should count what passes, at both ends of each link") {
            simulatedFabric {
                fatTree(4)
                subnetManager()
            }.use { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    val switch = lid(simulation.lids().getValue("S-1"))
                    val before = fabric.get<PortCountersExtended>(switch) { portSelect = 1 }
                    repeat(10) { fabric.get<NodeInfo>(directed(0, 1)) }
                    val after = fabric.get<PortCountersExtended>(switch) { portSelect = 1 }
                    after.portRcvPkts - before.portRcvPkts shouldBe 11
                    after.portXmitPkts - before.portXmitPkts shouldBe 11
                    after.portXmitData - before.portXmitData shouldBe 11 * 72
                    val all = fabric.get<PortCounters>(switch) { portSelect = 0xff }
                    all.portRcvPkts shouldBe after.portRcvPkts + 1
                    simulation.counters("S-1", 1).symbolErrorCounter = 77_000
                    fabric.get<PortCounters>(switch) { portSelect = 1 }.symbolErrorCounter shouldBe 0xffff
                    fabric.get<PortCountersExtended>(switch) { portSelect = 1 }.symbolErrorCounter shouldBe 77_000
                }
            }
        }
    })
