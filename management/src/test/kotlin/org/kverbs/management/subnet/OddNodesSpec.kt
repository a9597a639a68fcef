package org.kverbs.management.subnet

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.collections.shouldNotBeEmpty
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.Job
import org.kverbs.management.check.partitions
import org.kverbs.management.fabric.fabric
import org.kverbs.management.path.MadPath
import org.kverbs.management.path.directed
import org.kverbs.management.simulation.SimulatedFabric
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.transport.MadTransport
import org.kverbs.structures.Lid
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds

/** Loses the requests of [isLost]. */
private class Losing(
    private val transport: MadTransport,
    private val isLost: (ByteArray, MadPath) -> Boolean,
) : MadTransport by transport {
    override fun send(
        mad: ByteArray,
        path: MadPath,
    ) {
        if (!isLost(mad, path)) transport.send(mad, path)
    }

    override fun send(
        mad: ByteArray,
        path: MadPath,
        patience: Duration,
    ) {
        if (!isLost(mad, path)) transport.send(mad, path, patience)
    }
}

private const val PORT_INFO = 0x15

/** Nodes that answer some questions and not others. */
class OddNodesSpec :
    FunSpec({
        fun chain(switches: Int = 3) =
            simulatedFabric {
                host("H-1")
                for (number in 1..switches) switch("S-$number", 4)
                link("H-1", 1, "S-1", 1)
                for (number in 2..switches) link("S-${number - 1}", 2, "S-$number", 1)
                host("H-2")
                link("S-$switches", 2, "H-2", 1)
            }

        fun SimulatedFabric.losing(isLost: (ByteArray, MadPath) -> Boolean) =
            fabric(Losing(port("H-1"), isLost)) {
                timeout(300.milliseconds)
                retries(0)
            }

        test("should keep the way to what it has found when it is stopped, past a switch that tells little of itself") {
            chain(switches = 9).use { simulation ->
                val second = directed(0, 1, 2)
                val fabric =
                    simulation.losing { mad, path ->
                        val header = MADHeader.at(mad)
                        path == second && header.attributeID == PORT_INFO && header.attributeModifier == 0L
                    }
                fabric.use {
                    val stop = Job()
                    val subnet = fabric.discover(stop = stop) { if (it.nodes == 8) stop.complete() }
                    subnet.problems.map { it.kind } shouldContain SubnetProblemKind.STOPPED
                    subnet.nodes.size shouldBeGreaterThan 4
                    for (node in subnet.nodes.filter { it != subnet.here?.node }) {
                        withClue("$node by ${node.path}") {
                            fabric.get<NodeInfo>(node.path).nodeGUID shouldBe node.guid
                        }
                    }
                }
            }
        }

        test("should say of a port whose answers are damaged that answers came") {
            chain().use { simulation ->
                val damaging =
                    simulation.losing { _, path ->
                        if (path == directed(0, 1, 2)) simulation.faults { truncated = 1.0 }
                        false
                    }
                damaging.use { fabric ->
                    val subnet = fabric.discover()
                    subnet.problems.shouldNotBeEmpty()
                    subnet.problems.joinToString() shouldContain "1 datagrams came that are no answer"
                }
            }
        }

        test("should report the switches of whose tables the administrator has no records") {
            simulatedFabric {
                fatTree(4)
                subnetManager()
            }.use { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    fabric.byRecords().forwardingTables(fabric.discover()).problems.shouldBeEmpty()
                    // The administrator does not know the switch by this LID.
                    val switch = fabric.discover().switches.first()
                    simulation.setLid(switch.name, 0, Lid(0x900))
                    val problem =
                        fabric
                            .byRecords()
                            .forwardingTables(fabric.discover())
                            .problems
                            .single()
                    problem.node shouldBe switch.guid
                    problem.text shouldContain "has no LinearForwardingTableRecord of LID"
                }
            }
        }

        test("should say that the partitions of ports without a LID are not known") {
            chain().use { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    val partitions = fabric.partitions(fabric.discover())
                    partitions.problems.size shouldBe 5
                    partitions.problems.first().text shouldContain "the port has no LID"
                }
            }
        }
    })
