package org.kverbs.management.subnet

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import org.kverbs.management.simulation.SimulatedFabricBuilder
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.structures.LinkRecord
import org.kverbs.management.structures.NodeRecord
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortInfoRecord
import org.kverbs.management.transport.MadTransportException
import org.kverbs.structures.Lid
import org.kverbs.structures.copy

/** What a subnet tells of its ports, but for keys, which an administrator does not show, and ports of arrival. */
internal fun portsWithoutKeys(of: Subnet): List<String> =
    of.ports.map { port -> "$port ${port.guid} ${port.lid} ${port.rate} ${port.peer} ${shown(port.info)}" }

private fun shown(info: PortInfo?) =
    info
        ?.copy {
            mKey = 0
            localPortNum = 0
        }?.toString()

private suspend fun compare(configure: SimulatedFabricBuilder.() -> Unit) {
    simulatedFabric {
        configure()
        subnetManager()
    }.use { simulation ->
        simulation.fabric(simulation.hosts.first()).use { fabric ->
            val direct = fabric.discover()
            for (recorded in listOf(fabric.discoverBySa(), fabric.byRecords().discover())) {
                recorded.problems.shouldBeEmpty()
                recorded.nodes.map { "$it ${it.switchInfo}" } shouldBe direct.nodes.map { "$it ${it.switchInfo}" }
                recorded.links.map { "$it" } shouldBe direct.links.map { "$it" }
                portsWithoutKeys(recorded) shouldBe portsWithoutKeys(direct)
                recorded.here?.node?.guid shouldBe direct.here?.node?.guid
            }
        }
    }
}

class SaDiscoverySpec :
    FunSpec({
        test("should find from records what the nodes say of themselves, in a fat tree") { compare { fatTree(4) } }

        test("should find from records what the nodes say of themselves, in a torus") { compare { torus(3, 3) } }

        test("should find from records what the nodes say of themselves, in a fabric of chance") {
            compare { netFile("${randomNet(3)}") }
        }

        test("should end with paths that can be used, whatever the records are") {
            val count = 100
            val nodes =
                List(count) { index ->
                    NodeRecord {
                        lid = Lid(index + 1)
                        nodeInfo.memory.copyFrom(switchInfo(index + 1L, 2, 1).memory)
                    }
                }
            val ports =
                List(count * 3) { index ->
                    PortInfoRecord {
                        endportLID = Lid(index / 3 + 1)
                        portNum = index % 3
                        portInfo.memory.copyFrom(upPort.memory)
                    }
                }
            // A chain that is longer than a path can be, whose end leads to a LID that no node has.
            val links =
                List(count) { index ->
                    LinkRecord {
                        fromLID = Lid(index + 1)
                        fromPort = 2
                        toLID = Lid(index + 2)
                        toPort = 1
                    }
                }
            val found = FoundSubnet(maxNodes = 1000, maxPorts = 10_000)
            val answers = RecordAnswers(RecordedLinks(Lid(1), nodes, links), ports, emptyList())
            val subnet =
                Discovery(answers, found) {}.run {
                    found.reportMissing(answers.links.guids, "no link leads to this node")
                }
            subnet.nodes.map { it.path.length } shouldBe (0..63).toList()
            subnet.problems.map { it.kind }.toSet() shouldBe
                setOf(SubnetProblemKind.TOO_FAR, SubnetProblemKind.NO_ANSWER)
            subnet.problems.count { "no link leads" in it.text } shouldBe count - 64
        }

        test("should say that there is no subnet manager") {
            simulatedFabric { fatTree(4) }.use { simulation ->
                simulation.fabric(simulation.hosts.first()).use { fabric ->
                    shouldThrow<MadTransportException> { fabric.discoverBySa() }
                }
            }
        }
    })
