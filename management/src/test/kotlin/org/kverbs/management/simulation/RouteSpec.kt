package org.kverbs.management.simulation

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.delay
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import org.kverbs.management.path.DirectedPath
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.path.directed
import org.kverbs.management.path.lid
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.SMPFormatDirected
import org.kverbs.management.transaction.DATA
import org.kverbs.management.transaction.MadClosedException
import org.kverbs.management.transaction.nodeInfoRequest
import org.kverbs.management.transport.MadReceiver
import org.kverbs.management.transport.MadTransport
import org.kverbs.structures.Lid
import java.util.concurrent.ConcurrentLinkedQueue
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.milliseconds

/** A program that keeps what it receives. */
private class Kept(
    val transport: MadTransport,
) : MadReceiver {
    val received = ConcurrentLinkedQueue<Pair<ByteArray, MadPath?>>()
    val lost = ConcurrentLinkedQueue<ByteArray>()

    init {
        transport.receive(this)
    }

    override fun received(
        mad: ByteArray,
        back: MadPath?,
    ) {
        received += mad to back
    }

    override fun undelivered(mad: ByteArray) {
        lost += mad
    }
}

/** A SubnGet of NodeInfo by a directed route alone. */
private fun permissive(path: DirectedPath): ByteArray =
    nodeInfoRequest(path).also {
        SMPFormatDirected.at(it).apply {
            drSLID = Lid(0xffff)
            drDLID = Lid(0xffff)
        }
    }

class RouteSpec :
    FunSpec({
        fun managed(configure: SimulatedFabricBuilder.() -> Unit = {}) =
            simulatedFabric {
                fatTree(4)
                subnetManager()
                configure()
            }

        fun SimulatedFabric.lidOf(node: String) = port(node).use { it.port().info.lid }

        test("should write the return path and the direction into an answer by a directed route") {
            val program = Kept(managed().port("H-3"))
            program.transport.send(permissive(directed(0, 1, 3, 4)), directed(0, 1, 3, 4))
            val answer = SMPFormatDirected.at(program.received.single().first)
            answer.madHeader.direction shouldBe true
            answer.madHeader.hopPointer shouldBe 0
            (1..3).map { answer.returnPath[it] } shouldBe listOf(1, 2, 1)
            NodeInfo.at(program.received.single().first, DATA).localPortNum shouldBe 1
        }

        test("should go round in a loop of a directed route for as many hops as there are") {
            val simulation = managed()
            simulation.fabric("H-1").use { fabric ->
                // From edge to aggregation and back, again and again.
                val path = DirectedPath(listOf(0, 1) + List(61) { if (it % 2 == 0) 3 else 1 })
                path.length shouldBe 62
                fabric.get<NodeInfo>(path).nodeGUID shouldBe fabric.get<NodeInfo>(directed(0, 1, 3)).nodeGUID
            }
        }

        test("should lose what is no proper directed route, and tell the sender") {
            val simulation = managed()
            val program = Kept(simulation.port("H-1"))
            val changes =
                listOf<SMPFormatDirected.() -> Unit>(
                    { madHeader.hopPointer = 1 },
                    { madHeader.direction = true },
                    { madHeader.hopCount = 64 },
                    { initialPath[1] = 2 },
                    { initialPath[2] = 5 },
                    { drDLID = Lid(0) },
                )
            for (change in changes) {
                val mad = permissive(directed(0, 1, 3))
                SMPFormatDirected.at(mad).apply {
                    change()
                }
                program.transport.send(mad, directed(0, 1, 3))
            }
            program.received.size shouldBe 0
            program.lost.size shouldBe changes.size
        }

        test("should go by LID to a switch, then by ports, then by LID again, and back the same way") {
            val simulation = managed()
            val here = simulation.lidOf("H-1")
            val spine = simulation.lidOf("S-17")
            val far = simulation.lidOf("H-16")
            val program = Kept(simulation.port("H-1"))

            fun ask(
                last: Lid,
                vararg ports: Int,
            ): ByteArray {
                val mad = permissive(directed(0, *ports))
                SMPFormatDirected.at(mad).apply {
                    drSLID = here
                    drDLID = last
                }
                program.transport.send(mad, LidPath(spine))
                return program.received.poll().first
            }
            simulation.fabric("H-1").use { fabric ->
                // Port 4 of a core switch leads to the last pod.
                NodeInfo.at(ask(Lid(0xffff), 4), DATA).nodeGUID shouldBe
                    fabric.get<NodeInfo>(lid(simulation.lidOf("S-15").value)).nodeGUID
                NodeInfo.at(ask(far, 4), DATA).nodeGUID shouldBe fabric.get<NodeInfo>(lid(far.value)).nodeGUID
                NodeInfo.at(ask(Lid(0xffff)), DATA).nodeGUID shouldBe fabric.get<NodeInfo>(lid(spine.value)).nodeGUID
            }
        }

        test("should carry what no agent takes to the programs at the port, and their answers back") {
            val simulation = managed()
            val asking = Kept(simulation.port("H-1"))
            val serving = Kept(simulation.port("H-9"))
            val mad = permissive(directed(0))
            SMPFormatDirected.at(mad).madHeader.mgmtClass = ManagementClass.of(0x0b)
            asking.transport.send(mad, LidPath(simulation.lidOf("H-9")))
            val (request, back) = serving.received.single()
            back shouldBe LidPath(simulation.lidOf("H-1"))
            request[3] = (request[3].toInt() or 0x80).toByte()
            serving.transport.send(request, checkNotNull(back))
            asking.received.single().first.toList() shouldBe request.toList()
            // Nobody is at H-10: its node refuses the class.
            asking.transport.send(mad, LidPath(simulation.lidOf("H-10")))
            asking.received.last().first[5] shouldBe 0x04
        }

        test("should have an agent of the user's answer a vendor's class, and survive one that throws") {
            val vendor = ManagementClass.of(0x0a)
            val simulation =
                managed {
                    agent(vendor) { request, port ->
                        check(port != "H-3[1]") { "a fault of the agent" }
                        request.also {
                            it[3] = 0x81.toByte()
                            port.encodeToByteArray().copyInto(it, DATA)
                        }
                    }
                }
            val program = Kept(simulation.port("H-1"))
            val mad = permissive(directed(0))
            SMPFormatDirected.at(mad).madHeader.mgmtClass = vendor
            program.transport.send(mad, LidPath(simulation.lidOf("H-2")))
            program.received.single().first.decodeToString(DATA, DATA + 6) shouldBe "H-2[1]"
            val thread = Thread.currentThread()
            val handler = thread.uncaughtExceptionHandler
            var thrown = 0
            thread.setUncaughtExceptionHandler { _, _ -> thrown++ }
            try {
                program.transport.send(mad, LidPath(simulation.lidOf("H-3")))
            } finally {
                thread.uncaughtExceptionHandler = handler
            }
            thrown shouldBe 1
            program.received.size shouldBe 1
        }

        test("should bring each of many programs its own answers, with cancellations and on many threads") {
            val simulation = managed { faults { delay(0.milliseconds..2.milliseconds) } }
            withContext(Dispatchers.Default) {
                val hosts = simulation.hosts.associateWith { lid(simulation.lidOf(it).value) }
                List(24) { program ->
                    launch {
                        simulation.fabric("H-${program % 16 + 1}") { outstanding(8) }.use { fabric ->
                            val asked =
                                List(100) { index ->
                                    val host = "H-${(index + program) % 16 + 1}"
                                    async {
                                        host to fabric.get<NodeDescription>(hosts.getValue(host)).nodeString
                                    }
                                }
                            asked.filterIndexed { index, _ -> index % 7 == 0 }.forEach { it.cancelAndJoin() }
                            asked.filterIndexed { index, _ -> index % 7 != 0 }.awaitAll().forEach { (host, found) ->
                                found shouldBe host
                            }
                            fabric.counters.outstanding shouldBe 0
                        }
                    }
                }.joinAll()
            }
            simulation.close()
        }

        test("should end all waits when it is closed during requests") {
            val simulation = managed { faults { delay(1.hours) } }
            withContext(Dispatchers.Default) {
                val fabric = simulation.fabric("H-1") { timeout(1.hours) }
                val waits =
                    List(50) {
                        async(start = CoroutineStart.UNDISPATCHED) {
                            runCatching { fabric.get<NodeInfo>(directed(0, 1)) }
                        }
                    }
                fabric.close()
                simulation.close()
                waits.awaitAll().forEach { (it.exceptionOrNull() is MadClosedException) shouldBe true }
            }
        }
    })
