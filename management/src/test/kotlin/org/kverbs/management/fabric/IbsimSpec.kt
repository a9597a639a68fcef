package org.kverbs.management.fabric

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import org.kverbs.management.path.DirectedPath
import org.kverbs.management.path.directed
import org.kverbs.management.path.lid
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PortCounters
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortPhysicalState
import org.kverbs.management.structures.PortState
import org.kverbs.management.transaction.MadEventKind
import org.kverbs.management.transaction.MadStatusException
import org.kverbs.management.transaction.MadTimeoutException
import org.kverbs.management.transport.Ibsim
import org.kverbs.management.transport.IbsimTransport
import org.kverbs.management.transport.MadTransportException
import org.kverbs.management.transport.ibsim
import org.kverbs.management.transport.readNetFile
import org.kverbs.management.transport.smpquery
import org.kverbs.structures.Guid
import org.kverbs.structures.Lid
import org.kverbs.structures.copy
import org.kverbs.structures.dotted
import java.net.DatagramSocket
import java.nio.file.Path
import kotlin.io.path.readText

private const val HERE = "H-0002c90200000030"
private val net = checkNotNull(IbsimSpec::class.java.getResource("/small.net")).readText()
private val nodes = readNetFile(net)

/** Each node with a path to it from [HERE] and the port at which that path arrives. */
private fun routes(): Map<String, Pair<DirectedPath, Int>> {
    val found = linkedMapOf(HERE to (directed(0) to 1))
    val open = ArrayDeque(listOf(HERE))
    while (open.isNotEmpty()) {
        val id = open.removeFirst()
        val node = nodes.getValue(id)
        if (!node.isSwitch && id != HERE) continue
        for ((port, far) in node.links) {
            val (farId, farPort) = far
            if (found.putIfAbsent(farId, found.getValue(id).first + port to farPort) == null) open += farId
        }
    }
    return found
}

/** The program of docs/management.md. */
private suspend fun documented(
    simulator: Int,
    println: (String?) -> Unit,
) {
    fabric(IbsimTransport.connect(port = simulator, node = "second host")) { retries(1) }.use { fabric ->
        val node = fabric.get<NodeInfo>(directed(0, 1))
        println("${node.nodeType} ${node.nodeGUID}")
        for (port in 1..node.numPorts) {
            println("$port: ${fabric.get<PortInfo>(directed(0, 1), port).portState}")
        }
        try {
            fabric.get<NodeInfo>(directed(0, 1, 3))
        } catch (e: MadTimeoutException) {
            println(e.message)
        }
    }
}

class IbsimSpec :
    FunSpec({
        fun sentence(
            name: String,
            body: suspend (Fabric, Ibsim) -> Unit,
        ) = test(name).config(enabledOrReasonIf = { ibsim.presentOrSkipped }) {
            Ibsim(net).use { simulator ->
                fabric(IbsimTransport.connect(port = simulator.port, node = HERE)) { retries(1) }
                    .use { body(it, simulator) }
            }
        }

        sentence("should print what docs/management.md shows") { _, simulator ->
            val page = Path.of(System.getProperty("kverbs.root"), "docs", "management.md").readText()
            val shown = page.substringAfter("small.net` it prints:\n\n```text\n").substringBefore("\n```")
            val lines = mutableListOf<String?>()
            documented(simulator.port) { lines += it }
            lines.joinToString("\n") shouldBe shown
        }

        sentence("should read each node of a net file by directed routes, all at once") { fabric, _ ->
            routes().size shouldBe nodes.size
            coroutineScope {
                routes()
                    .map { (id, route) ->
                        async {
                            val node = nodes.getValue(id)
                            val (path, arrival) = route
                            val info = fabric.get<NodeInfo>(path)
                            withClue("$id by $path: $info") {
                                info.nodeType shouldBe if (node.isSwitch) NodeType.SWITCH else NodeType.CA
                                info.numPorts shouldBe node.ports
                                info.nodeGUID shouldBe Guid.parse(id.substringAfter('-'))
                                info.localPortNum shouldBe arrival
                                fabric.get<NodeDescription>(path).nodeString shouldBe node.name
                            }
                        }
                    }.awaitAll()
            }
        }

        sentence("should tell of each port whether the net file has a link there") { fabric, _ ->
            for ((id, route) in routes()) {
                val node = nodes.getValue(id)
                for (port in 1..node.ports) {
                    withClue("$id port $port") {
                        val isUp =
                            fabric.get<PortInfo>(route.first, port).portPhysicalState == PortPhysicalState.LINK_UP
                        isUp shouldBe (port in node.links)
                    }
                }
            }
        }

        test("should print what smpquery prints").config(enabledOrReasonIf = { smpquery.presentOrSkipped }) {
            smpquery.require()
            Ibsim(net).use { simulator ->
                fabric(IbsimTransport.connect(port = simulator.port, node = HERE)).use { fabric ->
                    for ((path) in routes().values) {
                        val hops = path.hops.joinToString(",")
                        val theirs = simulator.smpquery(HERE, "-D", "NI", hops).lines().drop(1)
                        fabric.get<NodeInfo>(path).dotted().lines() shouldBe theirs
                    }
                }
            }
        }

        sentence("should change an attribute, and then reach the port by its LID") { fabric, _ ->
            val info = fabric.get<PortInfo>(directed(0), 1)
            val changed =
                fabric.set(
                    directed(0),
                    info.copy {
                        lid = Lid(5)
                        masterSMLID = Lid(5)
                        portState = PortState.NO_CHANGE
                    },
                    1,
                )
            changed.lid shouldBe Lid(5)
            fabric.port().info.lid shouldBe Lid(5)
            fabric.get<PortInfo>(lid(5), 1).lid shouldBe Lid(5)
            fabric.get<PortCounters>(lid(5)) { portSelect = 1 }.portSelect shouldBe 1
        }

        sentence("should tell at once that a path leads nowhere, and that a port does not exist") { fabric, _ ->
            val error = shouldThrow<MadTimeoutException> { fabric.get<NodeInfo>(directed(0, 1, 3)) }
            error.message shouldContain "DR Path (0, 1, 3)"
            fabric.counters[MadEventKind.UNDELIVERED] shouldBe 2
            shouldThrow<MadStatusException> { fabric.get<PortInfo>(directed(0, 1), 99) }.path shouldBe directed(0, 1)
        }

        sentence("should know its own port") { fabric, _ ->
            fabric.port().name shouldBe HERE
            fabric.port().node.nodeGUID shouldBe fabric.get<NodeInfo>(directed(0)).nodeGUID
        }

        sentence("should give its place back when it is closed") { _, simulator ->
            fun more() = IbsimTransport.connect(port = simulator.port)
            repeat(30) { more().close() }
            val others = List(9) { more() }
            shouldThrow<MadTransportException> { more() }.message shouldContain "fewer than ten clients"
            others.forEach { it.close() }
            more().close()
        }

        sentence("should refuse a node that the net file has not") { _, simulator ->
            shouldThrow<MadTransportException> { IbsimTransport.connect(port = simulator.port, node = "nobody") }
                .message shouldContain "does not attach a client to nobody"
        }

        sentence("should end a wait when the simulator is killed, and when the fabric is closed") { fabric, simulator ->
            simulator.close()
            shouldThrow<MadTimeoutException> { fabric.get<NodeInfo>(directed(0)) }
            fabric.close()
            shouldThrow<IllegalStateException> { fabric.get<NodeInfo>(directed(0)) }
        }

        test("should name the command that starts a simulator where there is none") {
            val port = DatagramSocket(0).use { it.localPort }
            val error = shouldThrow<MadTransportException> { IbsimTransport.connect(port = port) }
            error.message shouldContain "start one with 'ibsim"
        }
    })
