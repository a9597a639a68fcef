package org.kverbs.management.simulation

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.withContext
import org.kverbs.management.fabric.fabric
import org.kverbs.management.path.directed
import org.kverbs.management.path.lid
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeRecord
import org.kverbs.management.structures.OpenIBPing
import org.kverbs.management.subnet.discover
import org.kverbs.management.transaction.MadTimeoutException
import org.kverbs.management.transport.Ibsim
import org.kverbs.management.transport.IbsimControl
import org.kverbs.management.transport.IbsimTransport
import org.kverbs.management.transport.MadTransportException
import org.kverbs.management.transport.ibsim
import java.net.DatagramPacket
import java.net.DatagramSocket
import java.net.InetAddress
import java.net.InetSocketAddress
import java.nio.ByteBuffer
import java.nio.ByteOrder
import kotlin.random.Random

private val small = checkNotNull(HonestySpec::class.java.getResource("/small.net")).readText()

private fun IbsimServer.attach(node: String) = fabric(IbsimTransport.connect(port = port, node = node)) { retries(0) }

private const val PORT_INFO = 8
private const val GID_PREFIX = 8

/** Says for the first program, as libumad2sim does when opensm opens `issm0`, that it manages the subnet. */
private fun IbsimServer.manage(manages: Boolean) {
    DatagramSocket().use { socket ->
        val first =
            ByteBuffer
                .allocate(80)
                .order(ByteOrder.nativeOrder())
                .putInt(0xdeadbeef.toInt())
                .putInt(0)
                .putInt(9)
                .putInt(4)
                .putInt(if (manages) 1 else 0)
                .array()
        socket.send(DatagramPacket(first, first.size, InetSocketAddress("127.0.0.1", port)))
        socket.soTimeout = 20_000
        socket.receive(DatagramPacket(first, first.size))
    }
}

class IbsimServerSpec :
    FunSpec({
        test("should serve the fabric to a program over UDP as to one in the process") {
            simulatedFabric {
                fatTree(4)
                subnetManager("H-3")
            }.test { simulation ->
                val server = simulation.serveIbsim()
                server.attach("H-7").use { fabric ->
                    server.attached shouldBe listOf("H-7")
                    val here = simulation.fabric("H-7").use { it.discover() }
                    val there = fabric.discover()
                    there.changesTo(here).isEmpty shouldBe true
                    there.nodes.size shouldBe 36
                    fabric.sa.get<NodeRecord> { lid = fabric.port().info.lid }.nodeDescription.nodeString shouldBe "H-7"
                    shouldThrow<MadTimeoutException> { fabric.get<NodeInfo>(directed(0, 1, 99)) }
                }
                server.attached.shouldBeEmpty()
            }
        }

        test("should lead each answer to the program that asked") {
            simulatedFabric {
                fatTree(4)
                subnetManager("H-3")
            }.test { simulation ->
                val server = simulation.serveIbsim()
                withContext(Dispatchers.Default) {
                    List(8) { program ->
                        async {
                            server.attach("H-${program % 4 + 1}").use { fabric ->
                                repeat(50) {
                                    fabric.get<NodeDescription>(directed(0)).nodeString shouldBe
                                        "H-${program % 4 + 1}"
                                }
                            }
                        }
                    }.awaitAll()
                }
            }
        }

        test("should bring a program the requests for its port once it manages the subnet, and its answers back") {
            simulatedFabric {
                fatTree(4)
                subnetManager("H-3")
            }.test { simulation ->
                val server = simulation.serveIbsim()
                val there = simulation.port("H-9").use { it.port().info.lid.value }
                server.attach("H-9").use { answering ->
                    answering.serve(ManagementClass.OPENIB_PING) { request ->
                        request.answer(OpenIBPing { hostName = "ninth" })
                    }
                    server.attach("H-1").use { asking ->
                        asking.get<OpenIBPing>(lid(there)).hostName shouldBe "H-9"
                        server.manage(true)
                        asking.get<OpenIBPing>(lid(there)).hostName shouldBe "ninth"
                        server.manage(false)
                        asking.get<OpenIBPing>(lid(there)).hostName shouldBe "H-9"
                    }
                }
            }
        }

        test("should refuse a node that is not there, and a second server on its port") {
            simulatedFabric { fatTree(4) }.test { simulation ->
                val server = simulation.serveIbsim()
                shouldThrow<MadTransportException> { server.attach("H-99") }
                shouldThrow<IllegalStateException> { simulation.serveIbsim(server.port) }
            }
        }

        test("should give the place of a program that vanished to others") {
            simulatedFabric { fatTree(4) }.test { simulation ->
                val server = simulation.serveIbsim()
                repeat(200) {
                    val data = DatagramSocket(InetSocketAddress("127.0.0.1", 0))
                    val control = IbsimControl(InetSocketAddress("127.0.0.1", server.port), data.localPort, "H-1")
                    data.connect(InetSocketAddress("127.0.0.1", server.port + 1 + control.client))
                    data.close()
                    // Without a word at the control port.
                }
                server.attach("H-1").use { it.get<NodeInfo>(directed(0, 1)).numPorts shouldBe 4 }
            }
        }

        test("should go on after any bytes at both of its ports") {
            simulatedFabric { fatTree(4) }.test { simulation ->
                val server = simulation.serveIbsim()
                val random = Random(7)
                server.attach("H-1").use { fabric ->
                    DatagramSocket().use { socket ->
                        repeat(20_000) {
                            val bytes = random.nextBytes(if (it % 2 == 0) 80 else random.nextInt(400))
                            if (it % 4 == 0) byteArrayOf(-17, -66, -83, -34).copyInto(bytes, 0)
                            val to = InetSocketAddress(InetAddress.getLoopbackAddress(), server.port)
                            socket.send(DatagramPacket(bytes, bytes.size, to))
                        }
                    }
                    fabric.get<NodeInfo>(directed(0, 1)).numPorts shouldBe 4
                }
            }
        }

        // libumad2sim asks no others. ibsim turns the bytes of a GID and a GUID around, and knows no GID prefix at first.
        test(
            "should answer the control questions as ibsim does",
        ).config(enabledOrReasonIf = { ibsim.presentOrSkipped }) {
            Ibsim(small).use { simulator ->
                simulatedFabric { netFile(small) }.use { simulation ->
                    val server = simulation.serveIbsim()
                    for (node in listOf("H-0002c90200000030", "S-0002c90200000010")) {
                        val answers =
                            listOf(simulator.port, server.port).map { port ->
                                IbsimControl(InetSocketAddress("127.0.0.1", port), 9, node).use { control ->
                                    listOf(3, 4, 7, 8, 10).map { type ->
                                        control
                                            .ask(type)
                                            .also {
                                                if (type ==
                                                    PORT_INFO
                                                ) {
                                                    it.fill(0, GID_PREFIX, GID_PREFIX + 8)
                                                }
                                            }.toHexString()
                                    }
                                }
                            }
                        for (index in answers[0].indices) {
                            withClue("$node, question $index") { answers[1][index] shouldBe answers[0][index] }
                        }
                    }
                }
            }
        }
    })
