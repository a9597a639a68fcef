package org.kverbs.management.simulation

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import org.kverbs.management.fabric.fabric
import org.kverbs.management.path.MadPath
import org.kverbs.management.path.directed
import org.kverbs.management.path.lid
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.transport.IbsimControl
import org.kverbs.management.transport.IbsimDatagram
import org.kverbs.management.transport.IbsimTransport
import org.kverbs.management.transport.MAD_SIZE
import org.kverbs.management.transport.MadReceiver
import java.net.DatagramPacket
import java.net.DatagramSocket
import java.net.InetSocketAddress
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.HexFormat
import kotlin.random.Random

private const val CONTROL = 80
private const val LENGTH_AT = 24
private const val RMPP_FLAGS_AT = 26
private const val MAD_AT = 32

private fun IbsimServer.at(number: Int = 0) = InetSocketAddress("127.0.0.1", port + number)

/** A program that speaks ibsim's protocol as it likes. */
private class Hostile(
    private val server: IbsimServer,
) : AutoCloseable {
    private val data = DatagramSocket(InetSocketAddress("127.0.0.1", 0))
    private val control = IbsimControl(server.at(), data.localPort, "H-1")

    fun write(bytes: ByteArray) = data.send(DatagramPacket(bytes, bytes.size, server.at(1 + control.client)))

    /** Returns when the server has read what was written before. */
    fun settle() = IbsimTransport.connect(port = server.port, node = "H-2").close()

    override fun close() {
        control.close()
        data.close()
    }
}

private suspend fun IbsimServer.nameAtFirst() =
    fabric(IbsimTransport.connect(port = port, node = "H-1")).use { it.get<NodeDescription>(directed(0)).nodeString }

private fun question(
    type: Int,
    client: Int = 0,
    vararg data: Int,
): ByteArray {
    val bytes = ByteBuffer.allocate(CONTROL).order(ByteOrder.nativeOrder())
    bytes.putInt(0xdeadbeef.toInt()).putInt(client).putInt(type).putInt(data.size * Int.SIZE_BYTES)
    data.forEach(bytes::putInt)
    return bytes.array()
}

class HostileProgramSpec :
    FunSpec({
        timeout = 120_000

        test("should serve others after a program sent a long message that is shorter than its header") {
            simulatedFabric { hosts(3) }.test { simulation ->
                simulation.serveIbsim().use { server ->
                    Hostile(server).use { hostile ->
                        for (length in 56L..70L) {
                            val mad = ByteArray(MAD_SIZE)
                            MADHeader.at(mad).apply {
                                mgmtClass = ManagementClass.DEV_MGT
                                method = Method.GET
                            }
                            mad[RMPP_FLAGS_AT] = 1
                            hostile.write(IbsimDatagram.request(mad, lid(1)).putLong(LENGTH_AT, length).array())
                        }
                        hostile.settle()
                    }
                    server.nameAtFirst() shouldBe "H-1"
                }
            }
        }

        test("should keep no UDP port for programs that name no port of their own") {
            simulatedFabric { hosts(3) }.test { simulation ->
                simulation.serveIbsim().use { server ->
                    DatagramSocket().use { socket ->
                        socket.soTimeout = 200
                        repeat(70) {
                            val bytes = question(type = 1)
                            socket.send(DatagramPacket(bytes, bytes.size, server.at()))
                            runCatching { socket.receive(DatagramPacket(bytes, bytes.size)) }
                        }
                    }
                    server.nameAtFirst() shouldBe "H-1"
                }
            }
        }

        test("should serve others after any datagrams") {
            simulatedFabric {
                hosts(3)
                subnetManager()
            }.test { simulation ->
                simulation.serveIbsim().use { server ->
                    val random = Random(3)
                    Hostile(server).use { hostile ->
                        repeat(20_000) { round ->
                            val mad = random.nextBytes(MAD_SIZE)
                            val classes = listOf(0x01, 0x81, 0x03, 0x04, 0x06, 0x30, random.nextInt(256))
                            val methods = listOf(1, 2, 5, 0x12, 0x14, 0x81, random.nextInt(256))
                            mad[1] = classes.random(random).toByte()
                            mad[3] = methods.random(random).toByte()
                            if (random.nextBoolean()) mad[16] = 0
                            if (random.nextBoolean()) mad[17] = random.nextInt(0x40).toByte()
                            val path = if (random.nextBoolean()) directed(0) else lid(random.nextInt(1, 6))
                            val datagram = IbsimDatagram.request(mad, path)
                            if (random.nextInt(4) == 0) datagram.putLong(LENGTH_AT, random.nextLong(-2, 300))
                            val bytes = datagram.array()
                            if (random.nextInt(8) == 0) bytes[random.nextInt(MAD_AT)] = random.nextInt().toByte()
                            hostile.write(bytes)
                            // The server's queue has room for some hundred.
                            if (round % 64 == 0) hostile.settle()
                        }
                    }
                    DatagramSocket().use { socket ->
                        repeat(5000) { round ->
                            val types = (0..20).filter { it != 1 && it != 2 }
                            val bytes = question(types.random(random), random.nextInt(-1, 66), random.nextInt(), 0)
                            if (random.nextBoolean()) bytes[random.nextInt(4, CONTROL)] = random.nextInt().toByte()
                            socket.send(DatagramPacket(bytes, bytes.size, server.at()))
                            if (round % 64 == 0) IbsimTransport.connect(port = server.port, node = "H-2").close()
                        }
                    }
                    server.nameAtFirst() shouldBe "H-1"
                }
            }
        }

        test("should take any datagrams of a program in the process") {
            simulatedFabric {
                fatTree(4)
                subnetManager()
            }.test { simulation ->
                val random = Random(4)
                val attributes = listOf(2, 3) + (0x10..0x20) + (0x30..0x3b) + listOf(0xf3)
                simulation.port("H-1").use { port ->
                    var arrived = 0
                    port.receive(
                        object : MadReceiver {
                            override fun received(
                                mad: ByteArray,
                                back: MadPath?,
                            ) {
                                arrived++
                            }

                            override fun undelivered(mad: ByteArray) = Unit
                        },
                    )
                    repeat(30_000) {
                        val mad = if (random.nextBoolean()) ByteArray(MAD_SIZE) else random.nextBytes(MAD_SIZE)
                        repeat(random.nextInt(8)) { mad[random.nextInt(MAD_SIZE)] = random.nextInt().toByte() }
                        MADHeader.at(mad).apply {
                            baseVersion = 1
                            mgmtClass = ManagementClass.of(listOf(0x01, 0x81, 0x03, 0x03, 0x03, 0x04).random(random))
                            classVersion = if (mgmtClass == ManagementClass.SUBN_ADM) 2 else 1
                            method = Method.of(listOf(1, 2, 5, 6, 0x12, 0x13, 0x14, 0x15).random(random))
                            attributeID = attributes.random(random)
                            if (random.nextBoolean()) attributeModifier = random.nextLong(4)
                        }
                        val path = if (random.nextInt(4) == 0) directed(0) else lid(random.nextInt(1, 40))
                        withClue(HexFormat.of().formatHex(mad)) { port.send(mad, path) }
                    }
                    arrived shouldBeGreaterThan 1000
                }
            }
        }
    })
