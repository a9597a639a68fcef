package org.kverbs.management.simulation

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import org.kverbs.attributes.Gid
import org.kverbs.management.path.lid
import org.kverbs.management.structures.LinearForwardingTable
import org.kverbs.management.structures.RandomForwardingTableRecord
import org.kverbs.management.structures.ServiceAssociationRecord
import org.kverbs.management.structures.ServiceRecord
import org.kverbs.management.subnet.discover
import org.kverbs.management.subnet.forwardingTables
import org.kverbs.management.transaction.MadClassException
import org.kverbs.structures.Lid
import org.kverbs.structures.copy

private const val TOO_FEW_COMPONENTS = 6

class TraceSpec :
    FunSpec({
        fun managed() =
            simulatedFabric {
                fatTree(4)
                subnetManager("H-1")
            }

        suspend fun SimulatedFabric.lidOf(node: String): Lid = port(node).use { it.port().info.lid }

        test("should trace the way between any two hosts by the nodes that a discovery and its tables tell") {
            managed().test { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    val subnet = fabric.discover()
                    val tables = fabric.forwardingTables(subnet)
                    val ports = subnet.nodes.flatMap { it.ports }.filter { it.link != null }.associateBy { it.lid }
                    for (from in simulation.hosts) {
                        val here = simulation.lidOf(from)
                        for (to in simulation.hosts - from) {
                            val there = simulation.lidOf(to)
                            val records =
                                fabric.sa.trace {
                                    slid = here
                                    dlid = there
                                }
                            val route = tables.route(ports.getValue(here), there)
                            records.map { it.nodeID } shouldBe
                                (listOf(route.from) + route.hops.map { it.into.node }).map { it.guid.value }
                            records.drop(1).map { it.entryPort } shouldBe route.hops.map { it.into.number }
                            records.dropLast(1).map { it.exitPort } shouldBe route.hops.map { it.out.number }
                        }
                    }
                }
            }
        }

        test("should trace by GIDs, with the ports by which the way comes and goes") {
            managed().test { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    val here = simulation.port("H-1").use { it.port().node }
                    val there = simulation.port("H-2").use { it.port().node }
                    val records =
                        fabric.sa.trace {
                            sgid = Gid(0xfe80L shl 48, here.portGUID.value)
                            dgid = Gid(0xfe80L shl 48, there.portGUID.value)
                        }
                    records.map { it.nodeType.value } shouldBe listOf(1, 2, 1)
                    records.map { it.entryPort to it.exitPort } shouldBe listOf(0 to 1, 1 to 2, 1 to 0)
                    records.first().exitPortID shouldBe here.portGUID.value
                    records.last().entryPortID shouldBe there.portGUID.value
                    records.first().entryPortID shouldBe 0
                }
            }
        }

        test("should want both ends of the way, and know none where no tables lead") {
            managed().test { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    val here = simulation.lidOf("H-1")
                    shouldThrow<MadClassException> { fabric.sa.trace { slid = here } }.classStatus shouldBe
                        TOO_FEW_COMPONENTS
                    val switch = lid(simulation.lidOf("S-1").value)
                    val there = simulation.lidOf("H-9")
                    val table = fabric.get<LinearForwardingTable>(switch, 0)
                    fabric.set(switch, table.copy { portBlock[there.value] = 0xff }, 0)
                    fabric.sa
                        .trace {
                            slid = here
                            dlid = there
                        }.shouldBeEmpty()
                }
            }
        }

        test("should tell the keys and names of services, and no random forwarding tables") {
            managed().test { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    for (id in 1L..2L) {
                        fabric.sa.set(
                            ServiceRecord.query {
                                serviceID = id
                                serviceName = "backup"
                            },
                        )
                    }
                    fabric.sa.records<ServiceAssociationRecord>().map { it.serviceName } shouldBe listOf("backup")
                    fabric.sa.records<ServiceAssociationRecord> { serviceName = "other" }.shouldBeEmpty()
                    fabric.sa.records<RandomForwardingTableRecord>().shouldBeEmpty()
                }
            }
        }
    })
