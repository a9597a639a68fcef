package org.kverbs.management.simulation

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.management.path.directed
import org.kverbs.management.structures.GUIDInfo
import org.kverbs.management.structures.GuidInfoRecord
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeRecord
import org.kverbs.management.structures.SwitchCongestionSetting
import org.kverbs.management.transaction.MadStatusException
import org.kverbs.structures.Guid

class SetAttributesSpec :
    FunSpec({
        fun managed() =
            simulatedFabric {
                fatTree(4)
                subnetManager("H-1")
            }

        test("should keep further GUIDs of a port, but not another first one, and forget them without power") {
            managed().test { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    val other = directed(0, 1, 2)
                    val own = fabric.get<GUIDInfo>(other, 0).guidBlock[0]
                    val block =
                        GUIDInfo {
                            guidBlock[0] = Guid(1)
                            guidBlock[3] = Guid(0x1234)
                        }
                    fabric.set(other, block, 0).guidBlock[0] shouldBe own
                    fabric.get<GUIDInfo>(other, 0).guidBlock[3] shouldBe Guid(0x1234)
                    fabric.set(other, block, 3).guidBlock[0] shouldBe Guid(1)
                    shouldThrow<MadStatusException> { fabric.set(other, block, 4) }
                    val here = fabric.sa.records<NodeRecord> { nodeInfo.portGUID = own }.single().lid
                    fabric.sa.records<GuidInfoRecord> { lid = here }.map { it.blockNum } shouldBe listOf(0, 3)
                    simulation.powerOff("H-2")
                    simulation.powerOn("H-2")
                    fabric.get<GUIDInfo>(other, 0).guidBlock[3] shouldBe Guid(0)
                }
            }
        }

        test("should take no further GUID where the port has no room, nor for one of another class's settings") {
            managed().test { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    val switch = directed(0, 1)
                    fabric.set(switch, GUIDInfo { guidBlock[1] = Guid(7) }, 0).guidBlock[1] shouldBe Guid(0)
                    val byLid = org.kverbs.management.path.lid(simulation.port("S-1").use { it.port().info.lid.value })
                    fabric.get<SwitchCongestionSetting>(byLid).bytes().all { it == 0.toByte() } shouldBe true
                }
            }
        }

        test("should keep a description that is set, at all ports of the node and in its record") {
            managed().test { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    fabric.set(directed(0, 1), NodeDescription { nodeString = "rack 3" }).nodeString shouldBe "rack 3"
                    fabric.get<NodeDescription>(directed(0, 1, 2)).nodeString shouldBe "H-2"
                    fabric.get<NodeDescription>(directed(0, 1, 3, 1)).nodeString shouldBe "rack 3"
                    val names = fabric.sa.records<NodeRecord>().map { it.nodeDescription.nodeString }
                    names.count { it == "rack 3" } shouldBe 1
                    names.none { it == "S-1" } shouldBe true
                }
            }
        }
    })
