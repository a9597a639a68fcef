package org.kverbs.management.subnet

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.runBlocking
import org.kverbs.management.fabric.fabric
import org.kverbs.management.structures.LinearForwardingTable
import org.kverbs.management.structures.MulticastForwardingTable
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.SwitchInfo
import org.kverbs.management.transport.Ibsim
import org.kverbs.management.transport.IbsimTransport
import org.kverbs.management.transport.ibnetdiscover
import org.kverbs.management.transport.opensm
import org.kverbs.structures.Guid
import org.kverbs.structures.Lid
import org.kverbs.structures.Structure
import org.kverbs.structures.copy
import kotlin.random.Random

/** An entry that ibroute prints: LID and port. */
private val entry = Regex("0x(\\p{XDigit}{4}) (\\d{3}) .*")

/** A hop that ibtracert prints: the port that is left, the GUID and the port that are reached. */
private val traced = Regex("\\[(\\d+)] -> (?:switch|ca) port \\{0x(\\p{XDigit}{16})}\\[(\\d+)] .*")

/** The star, whose switch has [table] for its LIDs. */
private fun tabled(
    question: Question,
    table: (Int) -> Int,
    top: Int = 112,
): Structure? {
    val answer = starAnswer(question)
    return when {
        answer is SwitchInfo -> {
            SwitchInfo { linearFDBTop = top }
        }

        question.attribute != LinearForwardingTable.attributeId -> {
            answer
        }

        else -> {
            LinearForwardingTable {
                for (index in 0 until 64) portBlock[index] = table(question.modifier * 64 + index)
            }
        }
    }
}

private fun tables(answer: (Question) -> Structure?): ForwardingTables =
    runBlocking {
        val fabric = fabric(lying(answer)) { retries(0) }
        fabric.forwardingTables(fabric.discover())
    }

class ForwardingTablesSpec :
    FunSpec({
        test("should lead as ibroute and ibtracert say, after opensm has set up the fabric")
            .config(enabledOrReasonIf = { opensm.presentOrSkipped }) {
                opensm.require()
                val net = twoLevels(108)
                Ibsim("$net", *bigFabric).use { simulator ->
                    simulator.sweep(net.firstHost)
                    fabric(IbsimTransport.connect(port = simulator.port, node = net.firstHost)).use { fabric ->
                        val subnet = fabric.discover()
                        subnet.printedPorts() shouldBe oneSpaced(simulator.tool(net.firstHost, "ibnetdiscover", "-p"))
                        subnet.duplicateLids.keys.shouldBeEmpty()
                        val tables = fabric.forwardingTables(subnet)
                        tables.problems.shouldBeEmpty()
                        for (switch in subnet.switches) {
                            val lid = switch.port(0).shouldNotBeNull().lid
                            val text = simulator.tool(net.firstHost, "ibroute", "$lid")
                            val theirs = text.lines().mapNotNull { entry.matchEntire(it)?.destructured }
                            tables.lids(switch).associate { it.value to tables.port(switch, it) } shouldBe
                                theirs.associate { (of, port) -> of.toInt(16) to port.toInt() }
                        }
                        compareRoutes(simulator, net.firstHost, tables)
                    }
                }
            }

        test("should read the ports of a multicast group that a switch was told")
            .config(enabledOrReasonIf = { opensm.presentOrSkipped }) {
                opensm.require()
                val net = twoLevels(20)
                Ibsim("$net", *bigFabric).use { simulator ->
                    simulator.sweep(net.firstHost)
                    fabric(IbsimTransport.connect(port = simulator.port, node = net.firstHost)).use { fabric ->
                        val subnet = fabric.discover()
                        val switch = subnet.switches.first()
                        val masks = MulticastForwardingTable { portMaskBlock[5] = 0b1010 }
                        fabric.set(switch.path, masks, modifier = 1)
                        fabric.set(switch.path, masks, modifier = (2 shl 28) + 1)
                        val tables = fabric.forwardingTables(subnet)
                        tables.multicastLids(switch) shouldBe listOf(Lid(0xc000 + 37))
                        tables.ports(switch, Lid(0xc000 + 37)) shouldBe listOf(1, 3, 33, 35)
                        tables.ports(switch, Lid(0xc000 + 36)).shouldBeEmpty()
                        tables.multicastLids(subnet.switches.last()).shouldBeEmpty()
                        fabric.forwardingTables(subnet, multicast = false).multicastLids(switch).shouldBeEmpty()
                    }
                }
            }

        test("should say where a route ends that does not reach its LID") {
            fun route(
                from: Long,
                to: Int,
                table: (Int) -> Int,
            ): String? {
                val tables = tables { tabled(it, table) }
                val start = tables.subnet.port(Guid(from)).shouldNotBeNull()
                return tables.route(start, Lid(to)).text
            }
            route(33, 48) { it / 16 } shouldBe null
            route(33, 48) { 255 }.shouldNotBeNull() shouldContain "has no entry for the LID 48"
            route(33, 48) { 8 }.shouldNotBeNull() shouldContain "has no link"
            route(33, 48) { 99 }.shouldNotBeNull() shouldContain "has no port 99"
            route(33, 48) { 5 }.shouldNotBeNull() shouldContain "has not the LID 48"
            route(33, 9999) { 5 }.shouldNotBeNull() shouldContain "has no entry"
        }

        test("should end a route that the tables lead in a circle") {
            val tables =
                tables { question ->
                    // Ports 7 and 8 of the switch are connected with each other.
                    when (
                        val answer =
                            if (question.hops.getOrElse(1) { 1 } in
                                7..8
                            ) {
                                null
                            } else {
                                tabled(question, { 7 })
                            }
                    ) {
                        is PortInfo -> {
                            answer
                        }

                        else -> {
                            if (question.isNodeInfo &&
                                answer == null
                            ) {
                                switchInfo(1, 8, 15 - question.hops[1])
                            } else {
                                answer
                            }
                        }
                    }.let { if (it is PortInfo && question.hops.size == 1) upPort.copy { lid = Lid(1) } else it }
                }
            val start = tables.subnet.port(Guid(33)).shouldNotBeNull()
            tables.route(start, Lid(77)).text.shouldNotBeNull() shouldContain "in a circle"
        }

        test("should report a switch that does not tell its table, or pretends to have one without end") {
            val silent = tables { if (it.attribute == LinearForwardingTable.attributeId) null else tabled(it, { 1 }) }
            silent.problems.map { it.kind } shouldBe listOf(SubnetProblemKind.NO_ANSWER)
            val start = silent.subnet.port(Guid(33)).shouldNotBeNull()
            silent.route(start, Lid(48)).isComplete shouldBe false
            val long = tables { tabled(it, { 2 }, top = 0xffff) }
            long.lids(long.subnet.switches.single()) shouldHaveSize 0xbfff
        }

        test("should refuse a switch of another subnet") {
            val tables = tables { tabled(it, { 1 }) }
            shouldThrow<IllegalArgumentException> { tables.port(starSubnet().switches.single(), Lid(1)) }
        }
    })

private fun compareRoutes(
    simulator: Ibsim,
    node: String,
    tables: ForwardingTables,
) {
    val hosts = tables.subnet.hosts.map { it.ports.single() }
    val random = Random(4)
    repeat(8) {
        val (from, to) = hosts.shuffled(random)
        val route = tables.route(from, to.lid)
        val text = simulator.tool(node, "ibtracert", "${from.lid}", "${to.lid}")
        val theirs = text.lines().mapNotNull { traced.matchEntire(it)?.destructured }
        withClue(text) {
            route.isComplete shouldBe true
            route.to shouldBe to.node
            route.hops.map { Triple(it.out.number, it.into.guid, it.into.number) } shouldBe
                theirs.map { (out, guid, into) -> Triple(out.toInt(), Guid.parse(guid), into.toInt()) }
            tables.subnet.shortestRoute(from.node, to.node)?.hops?.size shouldBe route.hops.size
        }
    }
}
