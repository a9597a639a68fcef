package org.kverbs.management.simulation

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.test.TestScope
import kotlinx.coroutines.test.currentTime
import kotlinx.coroutines.test.runTest
import org.kverbs.management.path.directed
import org.kverbs.management.path.lid
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortState
import org.kverbs.management.subnet.discover
import org.kverbs.management.transaction.MadCounters
import org.kverbs.management.transaction.MadEventKind
import org.kverbs.management.transaction.MadStatusException
import org.kverbs.management.transaction.MadTimeoutException
import org.kverbs.structures.Guid
import org.kverbs.structures.Lid
import kotlin.time.Duration.Companion.milliseconds

/** Asks 400 questions at once, checks all answers, and returns what was counted. */
private suspend fun TestScope.ask(faults: FabricFaults.() -> Unit): MadCounters {
    val simulation =
        simulatedFabric {
            fatTree(4)
            seed(42)
            clock(backgroundScope)
            faults {
                delay(1.milliseconds..20.milliseconds)
                faults()
            }
        }
    return simulation.use {
        simulation.fabric("H-1") { retries(60) }.use { fabric ->
            val ports = List(400) { async { fabric.get<PortInfo>(directed(0, 1, 3), it % 5) } }.awaitAll()
            ports.map { it.portState } shouldBe List(400) { if (it % 5 == 0) PortState.ACTIVE else PortState.INIT }
            fabric.counters
        }
    }
}

@OptIn(ExperimentalCoroutinesApi::class)
class FabricFaultsSpec :
    FunSpec({
        test("should bring each question its answer though datagrams are lost, late, doubled and wrong") {
            runTest {
                val counters =
                    ask {
                        loss = 0.1
                        duplicates = 0.1
                        busy = 0.1
                        wrongTransaction = 0.1
                        wrongAttribute = 0.1
                        wrongClass = 0.1
                        truncated = 0.1
                    }
                for (kind in listOf(
                    MadEventKind.RETRIED,
                    MadEventKind.BUSY,
                    MadEventKind.LATE,
                    MadEventKind.MALFORMED,
                )) {
                    counters[kind] shouldBeGreaterThan 0
                }
                counters[MadEventKind.UNEXPECTED] shouldBeGreaterThan 0
            }
        }

        test("should have the same faults again with the same seed, in virtual time") {
            val runs =
                List(2) {
                    var result = ""
                    runTest {
                        val counters = ask { loss = 0.2 }
                        result = MadEventKind.entries.joinToString { "${counters[it]}" } + " at $currentTime"
                    }
                    result
                }
            runs[0] shouldBe runs[1]
        }

        test("should survive answers of any bytes") {
            runTest {
                val simulation =
                    simulatedFabric {
                        fatTree(4)
                        faults { malformed = 1.0 }
                    }
                simulation.fabric("H-1") { retries(0) }.use { fabric ->
                    repeat(3000) { runCatching { fabric.get<NodeInfo>(directed(0, 1)) } }
                    simulation.faults { clear() }
                    fabric.get<NodeInfo>(directed(0, 1)).numPorts shouldBe 4
                }
            }
        }

        test("should refuse shares and delays without sense") {
            val simulation = simulatedFabric { fatTree(2) }
            shouldThrow<IllegalArgumentException> { simulation.faults { loss = 1.5 } }.message shouldContain "loss"
            shouldThrow<IllegalArgumentException> { simulation.faults { delay((-1).milliseconds) } }
            shouldThrow<IllegalArgumentException> { simulation.faults { busy = Double.NaN } }
        }

        test("should tell a busy node after all retries") {
            runTest {
                val simulation =
                    simulatedFabric {
                        fatTree(2)
                        faults { busy = 1.0 }
                    }
                simulation.fabric("H-1").use { fabric ->
                    shouldThrow<MadStatusException> { fabric.get<NodeInfo>(directed(0)) }.message shouldContain
                        "BUSY(1)"
                }
            }
        }

        test("should keep the links of a mute node, and take those of a dead one down") {
            runTest {
                val simulation =
                    simulatedFabric {
                        fatTree(4)
                        subnetManager()
                    }
                simulation.fabric("H-1") { retries(0) }.use { fabric ->
                    val far = lid(simulation.port("H-2").port().info.lid.value)
                    simulation.mute("S-1")
                    shouldThrow<MadTimeoutException> { fabric.get<NodeInfo>(directed(0, 1)) }
                    fabric.get<NodeDescription>(far).nodeString shouldBe "H-2"
                    simulation.unmute("S-1")
                    simulation.powerOff("H-2")
                    fabric.get<PortInfo>(directed(0, 1), 2).portState shouldBe PortState.DOWN
                    shouldThrow<MadTimeoutException> { fabric.get<NodeInfo>(far) }
                    simulation.powerOn("H-2")
                    simulation.port("H-2").port().info.lid shouldBe Lid(0)
                    simulation.sweep()
                    fabric.get<NodeDescription>(lid(simulation.port("H-2").port().info.lid.value)).nodeString shouldBe
                        "H-2"
                }
            }
        }

        test("should tell nothing of a path that leads nowhere if the loss is silent") {
            runTest {
                val simulation =
                    simulatedFabric {
                        fatTree(2)
                        silentLoss()
                    }
                simulation.fabric("H-1") { retries(2) }.use { fabric ->
                    shouldThrow<MadTimeoutException> { fabric.get<NodeInfo>(directed(0, 1, 9)) }
                    fabric.counters[MadEventKind.UNDELIVERED] shouldBe 0
                    currentTime shouldBe 3000
                }
            }
        }

        test("should show a discovery that another node has the GUID of the first one") {
            simulatedFabric { fatTree(4) }.use { simulation ->
                val first = simulation.port("H-1").use { it.port().node.nodeGUID }
                simulation.setGuid("H-2", first)
                val subnet = simulation.fabric("H-1").use { it.discover() }
                subnet.duplicateGuids shouldBe setOf(first)
                simulation.fabric("H-9").use { it.discover() }.duplicateGuids shouldBe setOf(first)
            }
            simulatedFabric { fatTree(4) }.use { simulation ->
                simulation.fabric("H-1").use { it.discover() }.duplicateGuids shouldBe emptySet()
            }
        }

        test("should have two nodes with one GUID, and two ports with one LID") {
            runTest {
                val simulation =
                    simulatedFabric {
                        fatTree(4)
                        subnetManager()
                    }
                simulation.setGuid("H-2", Guid(77))
                simulation.setGuid("H-3", Guid(77))
                simulation.setLid("H-2", 1, Lid(1))
                simulation.setLid("H-3", 1, Lid(1))
                simulation.fabric("H-1") { retries(0) }.use { fabric ->
                    fabric.get<NodeInfo>(directed(0, 1, 2)).nodeGUID shouldBe Guid(77)
                    fabric.get<PortInfo>(directed(0, 1, 2)).lid shouldBe Lid(1)
                    fabric.get<PortInfo>(directed(0, 1, 4, 2, 1)).lid shouldBe Lid(1)
                    simulation.port("H-3").port().node.nodeGUID shouldBe Guid(77)
                }
                simulation.sweep()
                (simulation.hosts + simulation.switches)
                    .map { node -> simulation.port(node).use { it.port().info.lid } }
                    .distinct()
                    .size shouldBe 36
            }
        }
    })
