package org.kverbs.management.subnet

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.management.simulation.SimulatedFabricBuilder
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.transaction.MadEvent
import org.kverbs.management.transport.MadTransportException
import java.util.concurrent.ConcurrentLinkedQueue

private suspend fun compare(configure: SimulatedFabricBuilder.() -> Unit) {
    simulatedFabric {
        configure()
        subnetManager()
    }.use { simulation ->
        val events = ConcurrentLinkedQueue<MadEvent>()
        simulation.fabric(simulation.hosts.first()) { listener { events += it } }.use { fabric ->
            val byLid = fabric.discoverByLid()
            val directed = "${ManagementClass.SUBN_DIRECTED_ROUTE.value}."
            events.filter { "($directed" in "$it" }.shouldBeEmpty()
            val direct = fabric.discover()
            byLid.problems.shouldBeEmpty()
            byLid.nodes.map { "$it ${it.switchInfo}" } shouldBe direct.nodes.map { "$it ${it.switchInfo}" }
            byLid.links.map { "$it" } shouldBe direct.links.map { "$it" }
            portsWithoutKeys(byLid) shouldBe portsWithoutKeys(direct)
            byLid.here?.node?.guid shouldBe direct.here?.node?.guid
        }
    }
}

class LidDiscoverySpec :
    FunSpec({
        test("should find by LIDs what directed routes find, and send no directed route, in a fat tree") {
            compare { fatTree(4) }
        }

        test("should find by LIDs what directed routes find, in a torus") { compare { torus(3, 3) } }

        for (seed in 1..6) {
            test("should find by LIDs what directed routes find, in a fabric of chance (seed $seed)") {
                compare { netFile("${randomNet(seed)}") }
            }
        }

        test("should report a node that does not answer, and find all others") {
            simulatedFabric {
                fatTree(4)
                subnetManager()
            }.use { simulation ->
                simulation.mute("H-5")
                simulation.mute("S-1")
                simulation.fabric("H-1") { retries(1) }.use { fabric ->
                    val here = fabric.port().info.lid
                    val complete = fabric.discoverBySa()
                    val subnet = fabric.discoverByLid()
                    val names = complete.nodes.map { it.name }
                    val found = subnet.nodes.map { it.name }
                    subnet.here?.lid shouldBe here
                    (names - found.toSet()).toSet() shouldBe unreached(complete, setOf("H-5", "S-1"), "H-1")
                    val missing = complete.nodes.single { it.name == "H-5" }
                    subnet.problems.single { it.node == missing.guid }.text shouldContain "did not reach it"
                    subnet.problems.filter { "no answer to what is behind" in it.text }.forEach {
                        it.kind shouldBe SubnetProblemKind.NO_ANSWER
                    }
                    subnet.node(missing.guid).shouldBeNull()
                }
            }
        }

        test("should say that there is no subnet manager") {
            simulatedFabric { fatTree(4) }.use { simulation ->
                simulation.fabric(simulation.hosts.first()).use { fabric ->
                    shouldThrow<MadTransportException> { fabric.discoverByLid() }
                }
            }
        }
    })

/** The nodes of [of] that links lead to from [start] only over the nodes [mute], and these themselves. */
private fun unreached(
    of: Subnet,
    mute: Set<String>,
    start: String,
): Set<String> {
    val reached = mutableSetOf(start)
    val next = ArrayDeque(reached)
    while (next.isNotEmpty()) {
        val node = of.nodes.single { it.name == next.first() }.also { next.removeFirst() }
        for (peer in node.ports.mapNotNull { it.peer?.node?.name }) {
            if (peer !in mute && reached.add(peer)) next += peer
        }
    }
    return of.nodes.map { it.name }.toSet() - reached
}
