package org.kverbs.management.transport

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeLessThan
import io.kotest.matchers.shouldBe
import org.kverbs.management.path.MadPath
import org.kverbs.management.path.lid
import java.io.File
import java.io.IOException
import java.net.BindException
import java.net.DatagramPacket
import java.net.DatagramSocket
import java.net.InetSocketAddress
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.channels.DatagramChannel
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit.SECONDS
import kotlin.concurrent.thread

private const val CONTROL_SIZE = 80
private const val TYPE = 8
private const val DATA = 16
private const val NODE_INFO = 7
private const val PORT_INFO = 8

/** A simulator that answers each question about its node twice: with the port first, as a late answer would come. */
private class LateSimulator : AutoCloseable {
    private val socket = DatagramSocket(InetSocketAddress("127.0.0.1", 0))
    val port: Int = socket.localPort

    init {
        thread(isDaemon = true) { runCatching { while (true) serve() } }
    }

    private fun serve() {
        val packet = DatagramPacket(ByteArray(CONTROL_SIZE), CONTROL_SIZE)
        socket.receive(packet)
        val question = ByteBuffer.wrap(packet.data).order(ByteOrder.nativeOrder())
        if (question.getInt(TYPE) == NODE_INFO) {
            answer(packet, PORT_INFO)
            answer(packet, NODE_INFO)
        } else {
            question.putInt(DATA, 0) // the client's number
            socket.send(packet)
        }
    }

    private fun answer(
        to: DatagramPacket,
        type: Int,
    ) {
        val bytes = to.data.copyOf()
        ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder()).putInt(TYPE, type)
        bytes[DATA] = type.toByte()
        socket.send(DatagramPacket(bytes, bytes.size, to.socketAddress))
    }

    override fun close() = socket.close()
}

/** A simulator and a socket at the port behind its own, which another program can have: then of another simulator. */
private fun simulatorAndNext(): Pair<LateSimulator, DatagramChannel> =
    generateSequence { LateSimulator() }.firstNotNullOf { simulator ->
        try {
            simulator to DatagramChannel.open().bind(InetSocketAddress("127.0.0.1", simulator.port + 1))
        } catch (_: BindException) {
            simulator.close()
            null
        }
    }

class IbsimTransportSpec :
    FunSpec({
        test("should drop a late answer of the simulator to an earlier question") {
            LateSimulator().use { simulator ->
                IbsimControl(InetSocketAddress("127.0.0.1", simulator.port), 1, "").use {
                    it.ask(NODE_INFO)[0] shouldBe NODE_INFO.toByte()
                    it.ask(PORT_INFO)[0] shouldBe 0
                }
            }
        }

        test("should leave no socket open when it refuses a node's name or finds no simulator") {
            fun descriptors() = checkNotNull(File("/proc/self/fd").list()).size
            val before = descriptors()
            repeat(100) {
                shouldThrow<IllegalArgumentException> { IbsimTransport.connect(node = "n".repeat(40)) }
                shouldThrow<MadTransportException> { IbsimTransport.connect(port = 9) }
            }
            descriptors() shouldBeLessThan before + 100
        }

        for (fault in listOf(IllegalStateException("a fault"), IOException("disk full"), NotImplementedError())) {
            test("should hand on what arrives after a receiver threw a ${fault::class.simpleName}") {
                val (free, next) = simulatorAndNext()
                free.use { simulator ->
                    next.use { far ->
                        IbsimTransport.connect(port = simulator.port).use { transport ->
                            val seen = LinkedBlockingQueue<Int>()
                            transport.receive(
                                object : MadReceiver {
                                    override fun received(
                                        mad: ByteArray,
                                        back: MadPath?,
                                    ) {
                                        seen += mad[0].toInt()
                                        if (mad[0].toInt() == 1) throw fault
                                    }

                                    override fun undelivered(mad: ByteArray): Unit = Unit
                                },
                            )
                            transport.send(ByteArray(MAD_SIZE), lid(1))
                            val to = far.receive(ByteBuffer.allocate(IbsimDatagram.SIZE))
                            for (first in 1..2) {
                                val datagram = ByteBuffer.allocate(IbsimDatagram.SIZE)
                                datagram.put(IbsimDatagram.SIZE - MAD_SIZE, first.toByte())
                                far.send(datagram, to)
                            }
                            seen.poll(10, SECONDS) shouldBe 1
                            seen.poll(10, SECONDS) shouldBe 2
                        }
                    }
                }
            }
        }

        test("should stay open when a thread that is interrupted sends") {
            val (free, next) = simulatorAndNext()
            free.use { simulator ->
                next.socket().use { far ->
                    far.soTimeout = 10_000
                    IbsimTransport.connect(port = simulator.port).use { transport ->
                        repeat(2) {
                            Thread.currentThread().interrupt()
                            try {
                                transport.send(ByteArray(MAD_SIZE), lid(1))
                            } finally {
                                Thread.interrupted() shouldBe true
                            }
                            far.receive(DatagramPacket(ByteArray(IbsimDatagram.SIZE), IbsimDatagram.SIZE))
                        }
                    }
                }
            }
        }
    })
