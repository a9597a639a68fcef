package org.kverbs.management.sa

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.directed
import org.kverbs.management.path.lid
import org.kverbs.management.simulation.SimulatedFabric
import org.kverbs.management.simulation.SimulatedFabricBuilder
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.structures.LinearForwardingTable
import org.kverbs.management.structures.MulticastForwardingTable
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PKeyTable
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortInfoExtended
import org.kverbs.management.structures.SLtoVLMappingTable
import org.kverbs.management.structures.SMInfo
import org.kverbs.management.structures.SwitchInfo
import org.kverbs.management.structures.VLArbitrationTable
import org.kverbs.management.subnet.discover
import org.kverbs.management.subnet.forwardingTables
import org.kverbs.management.subnet.randomNet
import org.kverbs.management.transaction.MadClassException
import org.kverbs.management.transaction.MadEventKind

private suspend fun managed(
    configure: SimulatedFabricBuilder.() -> Unit,
    body: suspend (SimulatedFabric, Fabric) -> Unit,
) = simulatedFabric {
    configure()
    subnetManager()
}.use { simulation -> simulation.fabric(simulation.hosts.first()) { saKey(1) }.use { body(simulation, it) } }

private suspend fun compareAll(fabric: Fabric) {
    val comparison = Comparison(fabric, fabric.byRecords())
    val subnet = fabric.discover()
    val masks = MulticastForwardingTable { portMaskBlock[5] = 0b1010 }
    fabric.set(subnet.switches.first().path, masks, modifier = 1)
    for (node in subnet.nodes) {
        comparison.node(node, node.path)
        comparison.node(node, LidPath(node.ports.first().lid))
    }
    comparison.differences.shouldBeEmpty()
}

class RecordedAttributesSpec :
    FunSpec({
        test("should answer what the nodes answer, in a fat tree") {
            managed({ fatTree(4) }) { _, fabric -> compareAll(fabric) }
        }

        for (seed in 1..8) {
            test("should answer what the nodes answer, in a fabric of chance (seed $seed)") {
                managed({ netFile("${randomNet(seed)}") }) { _, fabric -> compareAll(fabric) }
            }

            test("should have the forwarding tables that the switches have, in a fabric of chance (seed $seed)") {
                managed({ netFile("${randomNet(seed)}") }) { _, fabric ->
                    val subnet = fabric.discover()
                    val switch = subnet.switches.last()
                    val masks = MulticastForwardingTable { portMaskBlock[5] = 0b1010 }
                    fabric.set(switch.path, masks, modifier = 1)
                    val direct = fabric.forwardingTables(subnet)
                    val recorded = fabric.byRecords().forwardingTables(subnet)
                    recorded.problems.shouldBeEmpty()
                    for (each in subnet.switches) {
                        val lids = direct.lids(each)
                        recorded.lids(each) shouldBe lids
                        lids.map { recorded.port(each, it) } shouldBe lids.map { direct.port(each, it) }
                        val groups = direct.multicastLids(each)
                        recorded.multicastLids(each) shouldBe groups
                        groups.map { recorded.ports(each, it) } shouldBe groups.map { direct.ports(each, it) }
                    }
                    direct.multicastLids(switch).size shouldBe 1
                }
            }
        }

        test("should say who the subnet manager is as the manager does") {
            managed({ fatTree(4) }) { _, fabric ->
                val manager = LidPath(fabric.port().info.masterSMLID)
                val recorded = fabric.byRecords().get<SMInfo>(manager)
                val said = fabric.get<SMInfo>(manager)
                listOf(recorded.guid, recorded.smState, recorded.priority) shouldBe
                    listOf(said.guid, said.smState, said.priority)
            }
        }

        test("should ask for each link of a directed path once, and anew after forget") {
            managed({ fatTree(4) }) { _, fabric ->
                val records = fabric.byRecords()
                val far = fabric.discover().nodes.maxBy { it.path.length }
                far.path.length shouldBe 6

                suspend fun questions(): Long {
                    val before = fabric.counters[MadEventKind.SENT]
                    records.lid(far.path) shouldBe far.ports.first { it.lid.isUnicast }.lid
                    return fabric.counters[MadEventKind.SENT] - before
                }
                questions() shouldBe 6
                questions() shouldBe 0
                records.forget()
                questions() shouldBe 6
            }
        }

        test("should answer with empty tables where the administrator has no record") {
            managed({ fatTree(4) }) { _, fabric ->
                val records = fabric.byRecords()
                val host = directed(0)
                val none = records.get<LinearForwardingTable>(host)
                List(64) { none.portBlock[it] } shouldBe List(64) { 255 }
                records.get<MulticastForwardingTable>(host) shouldBe MulticastForwardingTable {}
                records.get<PKeyTable>(host, 2000) shouldBe PKeyTable {}
                records.get<SLtoVLMappingTable>(directed(0, 1), 0xfefe) shouldBe SLtoVLMappingTable {}
                records.get<VLArbitrationTable>(host, 4 shl 16) shouldBe VLArbitrationTable {}
            }
        }

        test("should say which record or link the administrator does not have") {
            managed({ fatTree(4) }) { _, fabric ->
                val records = fabric.byRecords()
                val here = fabric.port().info.lid
                shouldThrow<MadClassException> { records.get<NodeInfo>(directed(0, 7)) }.dumpDetailed(1) shouldContain
                    "Failed getting the link of port 7 of LID $here."
                shouldThrow<MadClassException> { records.get<SwitchInfo>(directed(0)) }
                shouldThrow<MadClassException> { records.get<PortInfo>(directed(0), 9) }
                shouldThrow<MadClassException> { records.get<NodeInfo>(lid(0xbfff)) }
            }
        }

        test("should refuse what no record repeats") {
            managed({ fatTree(4) }) { _, fabric ->
                shouldThrow<IllegalArgumentException> { fabric.byRecords().get<PortInfoExtended>(directed(0)) }
                    .message shouldContain "no record of subnet administration repeats PortInfoExtended"
                shouldThrow<IllegalArgumentException> { fabric.byRecords().get<PortInfo>(directed(0), 256) }
            }
        }
    })
