package org.kverbs.management.simulation

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.shouldBe
import org.kverbs.attributes.Gid
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.lid
import org.kverbs.management.structures.GuidInfoRecord
import org.kverbs.management.structures.InformInfo
import org.kverbs.management.structures.InformInfoRecord
import org.kverbs.management.structures.LinearForwardingTable
import org.kverbs.management.structures.LinearForwardingTableRecord
import org.kverbs.management.structures.LinkRecord
import org.kverbs.management.structures.MCJoinState
import org.kverbs.management.structures.MCMemberRecord
import org.kverbs.management.structures.MTU
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.MulticastForwardingTableRecord
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeRecord
import org.kverbs.management.structures.PKeyTableRecord
import org.kverbs.management.structures.PathRecord
import org.kverbs.management.structures.PortInfoRecord
import org.kverbs.management.structures.Rate
import org.kverbs.management.structures.SAFormat
import org.kverbs.management.structures.SLtoVLMappingTableRecord
import org.kverbs.management.structures.SMInfoRecord
import org.kverbs.management.structures.Selector
import org.kverbs.management.structures.ServiceRecord
import org.kverbs.management.structures.SwitchInfoRecord
import org.kverbs.management.structures.VLArbitrationTableRecord
import org.kverbs.management.transaction.MadClassException
import org.kverbs.management.transaction.MadStatusException
import org.kverbs.management.transaction.MadTransactor
import org.kverbs.management.transport.MAD_SIZE
import org.kverbs.structures.Lid
import org.kverbs.structures.RecordType
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureType
import kotlin.time.Duration.Companion.seconds

private const val SA_DATA = 56
private const val NO_RECORDS = 3
private const val TOO_MANY = 4
private const val REQUEST_INVALID = 2

/** A program that asks the subnet administrator. */
private class Asking(
    simulation: SimulatedFabric,
    node: String,
) {
    private val transport = simulation.port(node)
    private val path = LidPath(transport.port().info.masterSMLID)
    val gid = Gid(0xfe80L shl 48, transport.port().node.portGUID.value)
    val lid: Lid = transport.port().info.lid
    private val transactor = MadTransactor(transport)

    /** The administrator's key that the requests have. */
    var key = 0L

    suspend fun <S : Structure> ask(
        method: Method,
        type: StructureType<S>,
        record: Structure,
        mask: Long,
    ): List<S> {
        val mad = ByteArray(MAD_SIZE)
        SAFormat.at(mad).apply {
            madHeader.apply {
                baseVersion = 1
                mgmtClass = ManagementClass.SUBN_ADM
                classVersion = 2
                this.method = method
                attributeID = checkNotNull(record.structureType.attributeId ?: 3)
            }
            componentMask = mask
            smKey = key
        }
        record.bytes().let { it.copyInto(mad, SA_DATA, 0, minOf(it.size, MAD_SIZE - SA_DATA)) }
        val answer = transactor.transact(mad, path, 1.seconds, 3)
        val apart = SAFormat.at(answer.copyOf(maxOf(answer.size, MAD_SIZE))).attributeOffset * 8
        val isMany = method == Method.GET_TABLE
        val count =
            if (!isMany) {
                1
            } else if (apart == 0) {
                0
            } else {
                (answer.size - SA_DATA) / apart
            }
        return List(count) { type.of(answer.copyOfRange(SA_DATA + it * apart, SA_DATA + it * apart + type.byteSize)) }
    }

    suspend fun <S : Structure> table(
        type: RecordType<S>,
        assign: S.() -> Unit = {},
    ): List<S> = type.query(assign).let { ask(Method.GET_TABLE, type, it.record, it.mask.value) }

    suspend fun <S : Structure> get(
        type: RecordType<S>,
        assign: S.() -> Unit = {},
    ): S = send(Method.GET, type, assign)

    suspend fun <S : Structure> send(
        method: Method,
        type: RecordType<S>,
        assign: S.() -> Unit,
    ): S = type.query(assign).let { ask(method, type, it.record, it.mask.value) }.single()
}

class AdministrationSpec :
    FunSpec({
        fun simulation() =
            simulatedFabric {
                fatTree(4)
                subnetManager("H-3")
            }

        test("should have records of all that the nodes answer, in one message or in many") {
            simulation().use { simulation ->
                val asking = Asking(simulation, "H-1")
                asking.table(NodeRecord) shouldHaveSize 36
                asking.table(PortInfoRecord) shouldHaveSize 16 + 20 * 5
                asking.table(SwitchInfoRecord) shouldHaveSize 20
                asking.table(LinkRecord) shouldHaveSize 2 * 48
                asking.table(LinearForwardingTableRecord) shouldHaveSize 20
                asking.table(SLtoVLMappingTableRecord) shouldHaveSize 16 + 20 * 25
                asking.table(VLArbitrationTableRecord) shouldHaveSize 2 * (16 + 20 * 5)
                shouldThrow<MadClassException> { asking.table(PKeyTableRecord) }.classStatus shouldBe REQUEST_INVALID
                asking.key = 1
                asking.table(PKeyTableRecord) shouldHaveSize 2 * 16 + 20 * (1 + 2 * 4)
                asking.table(GuidInfoRecord) shouldHaveSize 36
                asking.table(SMInfoRecord).single().smInfo.priority shouldBe 0
                simulation.fabric("H-1").use { fabric ->
                    for (record in asking.table(NodeRecord)) {
                        withClue(record) { fabric.get<NodeInfo>(lid(record.lid.value)) shouldBe record.nodeInfo }
                    }
                    for (record in asking.table(LinearForwardingTableRecord)) {
                        fabric.get<LinearForwardingTable>(lid(record.lid.value)) shouldBe record.linearForwardingTable
                    }
                }
            }
        }

        test("should find by any components, one record or none") {
            simulation().use { simulation ->
                val asking = Asking(simulation, "H-1")
                val all = asking.table(NodeRecord)
                val one = all[20]
                asking.get(NodeRecord) { lid = one.lid } shouldBe one
                asking.get(NodeRecord) { nodeInfo.nodeGUID = one.nodeInfo.nodeGUID } shouldBe one
                asking.table(NodeRecord) { nodeInfo.numPorts = 4 } shouldHaveSize 20
                asking.table(NodeRecord) { nodeInfo.numPorts = 5 } shouldHaveSize 0
                shouldThrow<MadClassException> { asking.get(NodeRecord) }.classStatus shouldBe TOO_MANY
                shouldThrow<MadClassException> { asking.get(NodeRecord) { lid = Lid(999) } }.classStatus shouldBe
                    NO_RECORDS
                asking.table(LinkRecord) { fromLID = asking.lid }.single().toPort shouldBe 1
            }
        }

        test("should find paths, with the smallest MTU and the slowest rate on the way") {
            val simulation =
                simulatedFabric {
                    switch("S-1", 4)
                    switch("S-2", 4)
                    host("H-1")
                    host("H-2")
                    link("H-1", 1, "S-1", 1, speed = SimulatedSpeed.EDR)
                    link("S-1", 2, "S-2", 2, speed = SimulatedSpeed.QDR)
                    link("S-2", 1, "H-2", 1, speed = SimulatedSpeed.NDR)
                    subnetManager("H-2")
                }
            val asking = Asking(simulation, "H-1")
            val there = Asking(simulation, "H-2")
            val path =
                asking.get(PathRecord) {
                    sgid = asking.gid
                    dgid = there.gid
                }
            path.slid shouldBe asking.lid
            path.dlid shouldBe there.lid
            path.rate shouldBe Rate.RATE_40_GBPS
            path.mtu shouldBe MTU.MTU_2048
            path.pKey shouldBe 0xffff
            asking
                .get(PathRecord) {
                    slid = there.lid
                    dlid = asking.lid
                    reversible = true
                    numbPath = 1
                }.sgid shouldBe there.gid
            asking.table(PathRecord) { sgid = asking.gid } shouldHaveSize 4
            asking.table(PathRecord) {
                sgid = asking.gid
                rateSelector = Selector.GREATER_THAN
                rate = Rate.RATE_40_GBPS
            } shouldHaveSize 2
            shouldThrow<MadClassException> {
                asking.get(PathRecord) {
                    sgid = asking.gid
                    dgid = Gid(1, 2)
                }
            }.classStatus shouldBe NO_RECORDS
        }

        test("should keep what nodes announce as services, until they delete it") {
            simulation().use { simulation ->
                val asking = Asking(simulation, "H-1")
                asking
                    .send(Method.SET, ServiceRecord) {
                        serviceID = 7
                        serviceGID = asking.gid
                        serviceName = "clock"
                    }.serviceName shouldBe "clock"
                asking.table(ServiceRecord) { serviceName = "clock" }.single().serviceID shouldBe 7
                asking.table(ServiceRecord) { serviceID = 8 } shouldHaveSize 0
                asking.send(Method.DELETE, ServiceRecord) { serviceID = 7 }
                asking.table(ServiceRecord) shouldHaveSize 0
            }
        }

        test("should make a multicast group with its first member, and lead it to all members") {
            simulation().use { simulation ->
                val group = Gid.parse("ff12:401b:ffff::1")
                val first = Asking(simulation, "H-1")
                val second = Asking(simulation, "H-16")

                suspend fun Asking.join(isWhole: Boolean) =
                    send(Method.SET, MCMemberRecord) {
                        mgid = group
                        portGID = gid
                        joinState = MCJoinState.FULL_MEMBER
                        if (isWhole) {
                            qKey = 0x0b1b
                            tClass = 0
                            pKey = 0xffff
                            sl = 0
                            flowLabel = 0
                        }
                    }
                shouldThrow<MadClassException> { second.join(isWhole = false) }.classStatus shouldBe 6
                val record = first.join(isWhole = true)
                record.mlid shouldBe Lid(0xc000)
                record.mtu shouldBe MTU.MTU_2048
                second.join(isWhole = false).qKey shouldBe 0x0b1b
                second.table(MCMemberRecord) { mgid = group }.single().mlid shouldBe Lid(0xc000)
                second.table(MCMemberRecord) { portGID = first.gid } shouldHaveSize 1
                // Leaf, aggregation, core, aggregation, leaf.
                first.table(MulticastForwardingTableRecord).count { record ->
                    record.multicastForwardingTable.portMaskBlock[0] != 0
                } shouldBe 5
                listOf(first, second).forEach { member ->
                    member.send(Method.DELETE, MCMemberRecord) {
                        mgid = group
                        portGID = member.gid
                        joinState = MCJoinState.FULL_MEMBER
                    }
                }
                first.table(MCMemberRecord) shouldHaveSize 0
            }
        }

        test("should enter subscriptions, once each, and take them out again") {
            simulation().use { simulation ->
                val asking = Asking(simulation, "H-1")
                val info = { on: Int -> InformInfo { subscribe = on } }
                repeat(2) { asking.ask(Method.SET, InformInfo, info(1), 0).single().subscribe shouldBe 1 }
                asking.table(InformInfoRecord).single().subscriberGID shouldBe asking.gid
                asking.ask(Method.SET, InformInfo, info(0), 0)
                asking.table(InformInfoRecord) shouldHaveSize 0
                shouldThrow<MadClassException> { asking.ask(Method.SET, InformInfo, info(0), 0) }
            }
        }

        test("should give those paths between many ports that the question wants") {
            simulation().use { simulation ->
                val gids =
                    (1..16).map { number ->
                        simulation.port("H-$number").use { Gid(0xfe80L shl 48, it.port().node.portGUID.value) }
                    }
                val from = gids.take(8)
                val to = gids.drop(8)
                simulation.fabric("H-1").use { fabric ->
                    val all = fabric.sa.getMulti(from, to)
                    all.map { it.sgid to it.dgid } shouldBe from.flatMap { one -> to.map { one to it } }
                    fabric.sa.getMulti(from, to) { numbPath = 5 } shouldBe all.take(5)
                    fabric.sa.getMulti(from, to) { pKey = 0x8001 } shouldHaveSize 0
                    fabric.sa.getMulti(from, to) {
                        mtuSelector = Selector.EXACTLY
                        mtu = all.first().mtu
                    } shouldBe all
                    fabric.sa.getMulti(from, to) {
                        rateSelector = Selector.GREATER_THAN
                        rate = all.first().rate
                    } shouldHaveSize 0
                    fabric.sa.getMulti(from, to) { tClass = 7 }.map { it.tClass }.distinct() shouldBe listOf(7)
                }
            }
        }

        test("should refuse an attribute and a method that it has not") {
            simulation().use { simulation ->
                val asking = Asking(simulation, "H-1")
                shouldThrow<MadStatusException> {
                    asking.ask(Method.SET, NodeRecord, NodeRecord(), 0)
                }.status shouldBe 0x0c
            }
        }

        test("should bring a table of a thousand records through loss") {
            simulatedFabric {
                hosts(250)
                subnetManager()
                seed(9)
            }.use { simulation ->
                val asking = Asking(simulation, "H-77")
                simulation.faults { loss = 0.005 }
                asking.table(PortInfoRecord).size shouldBe 250 + simulation.switches.size * 11
            }
        }
    })
