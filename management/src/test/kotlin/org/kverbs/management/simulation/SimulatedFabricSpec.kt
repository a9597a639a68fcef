package org.kverbs.management.simulation

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.path.directed
import org.kverbs.management.path.lid
import org.kverbs.management.structures.LinkSpeedExt
import org.kverbs.management.structures.LinkWidth
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PortCounters
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortState
import org.kverbs.management.subnet.discover
import org.kverbs.management.transaction.MadStatusException
import org.kverbs.management.transaction.MadTimeoutException
import org.kverbs.structures.Guid

/** A monitoring program, as docs/management.md shows it: the nodes with a port that counts errors. */
private suspend fun portsWithErrors(fabric: Fabric): List<String> =
    fabric
        .discover()
        .links
        .flatMap { it.ends }
        .filter { port -> fabric.get<PortCounters>(lid(port.lid)) { portSelect = port.number }.portRcvErrors > 0 }
        .map { it.node.name }

class SimulatedFabricSpec :
    FunSpec({
        test("should answer who the nodes of a description are") {
            val simulation =
                simulatedFabric {
                    switch("S-1", ports = 3, guid = Guid(0x10))
                    host("H-1", ports = 2, guid = Guid(0x20), description = "first host")
                    router("R-1", guid = Guid(0x30))
                    link("H-1", 2, "S-1", 1, speed = SimulatedSpeed.EDR)
                    link("R-1", 1, "S-1", 3, LinkWidth.W1X)
                }
            simulation.fabric("first host").use { fabric ->
                val node = fabric.get<NodeInfo>(directed(0))
                node.nodeType shouldBe NodeType.CA
                node.portGUID shouldBe Guid(0x22)
                node.localPortNum shouldBe 2
                fabric.get<NodeDescription>(directed(0)).nodeString shouldBe "first host"
                fabric.get<NodeInfo>(directed(0, 2)).nodeGUID shouldBe Guid(0x10)
                fabric.get<NodeInfo>(directed(0, 2, 3)).nodeType shouldBe NodeType.ROUTER
                val link = fabric.get<PortInfo>(directed(0, 2), 1)
                link.linkSpeedExtActive shouldBe LinkSpeedExt.EDR
                link.linkWidthActive shouldBe LinkWidth.W4X
                fabric.get<PortInfo>(directed(0, 2), 3).linkWidthActive shouldBe LinkWidth.W1X
                listOf(1, 2, 3).map { fabric.get<PortInfo>(directed(0, 2), it).portState } shouldContainExactly
                    listOf(PortState.INIT, PortState.DOWN, PortState.INIT)
            }
            simulation.close()
        }

        test("should tell that a path leads nowhere, and refuse a port that a node has not") {
            simulatedFabric { fatTree(4) }.use { simulation ->
                simulation.fabric("H-1") { retries(0) }.use { fabric ->
                    shouldThrow<MadTimeoutException> { fabric.get<NodeInfo>(directed(0, 1, 1, 1)) }
                    shouldThrow<MadStatusException> { fabric.get<PortInfo>(directed(0, 1), 99) }.status shouldBe 0x1c
                }
                shouldThrow<IllegalArgumentException> { simulation.port("H-17") }.message shouldContain "\"H-17\""
            }
        }

        // As docs/management.md shows it.
        test("should find the port whose counter moves") {
            simulatedFabric {
                fatTree(4)
                subnetManager()
            }.test { simulation ->
                simulation.counters("H-5", 1).portRcvErrors = 3
                simulation.fabric("H-1").use { fabric -> portsWithErrors(fabric) } shouldBe listOf("H-5")
            }
        }

        test("should fail a test that leaves a program attached") {
            shouldThrow<IllegalStateException> { simulatedFabric { fatTree(2) }.test { it.port("H-1") } }
                .message shouldContain "has not closed its transports at H-1[1]"
        }

        test("should find a node by its name though another one is described so") {
            val simulation =
                simulatedFabric {
                    host("a")
                    host("b", description = "a")
                    host("c", description = "same")
                    host("d", description = "same")
                }
            simulation.port("a").port().name shouldBe "a"
            shouldThrow<IllegalArgumentException> { simulation.port("same") }
            simulatedFabric { netFile(simulation.netFile()) }.hosts shouldContainExactly listOf("a", "b", "c", "d")
            shouldThrow<IllegalArgumentException> { simulatedFabric { host("e", description = "\"") } }
            shouldThrow<IllegalArgumentException> { simulatedFabric { dragonfly(1_000_000, 1_000, 1) } }
        }

        test("should know a port, and detach a program that closes it") {
            val simulation = simulatedFabric { fatTree(2) }
            val port = simulation.port("H-2")
            port.port().name shouldBe "H-2"
            port.port().info.portState shouldBe PortState.INIT
            port.close()
            shouldThrow<IllegalStateException> { port.port() }
            simulation.close()
            shouldThrow<IllegalStateException> { simulation.port("H-1") }.message shouldContain "closed"
        }
    })
