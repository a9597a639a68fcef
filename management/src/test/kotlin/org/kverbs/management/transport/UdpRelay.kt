package org.kverbs.management.transport

import java.io.IOException
import java.net.DatagramPacket
import java.net.DatagramSocket
import java.net.InetAddress
import java.net.InetSocketAddress
import java.net.SocketAddress
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.concurrent.Executors
import java.util.concurrent.TimeUnit.MILLISECONDS
import kotlin.concurrent.thread
import kotlin.random.Random

private const val TYPE = 8
private const val CONTROL_DATA = 16
private const val CONNECT = 1

/** A poor wire between one client and ibsim: it loses, doubles and delays datagrams, but no control ones. */
internal class UdpRelay(
    private val simulator: Int,
    seed: Int,
    private val lossPercent: Int,
    private val doublePercent: Int,
    private val delayMillis: Int,
) : AutoCloseable {
    private val random = Random(seed)
    private val host: InetAddress = InetAddress.getLoopbackAddress()
    private val sockets = mutableListOf<DatagramSocket>()
    private val later = Executors.newSingleThreadScheduledExecutor { Thread(it).apply { isDaemon = true } }
    private val control = open(0)
    private var client: SocketAddress? = null

    /** Where a client connects. */
    val port: Int = control.localPort

    init {
        thread(isDaemon = true) { runCatching { control() } }
    }

    private fun open(port: Int) =
        DatagramSocket(InetSocketAddress(host, port)).also {
            synchronized(sockets) {
                sockets +=
                    it
            }
        }

    private fun control() {
        val back = open(0)
        val packet = DatagramPacket(ByteArray(512), 512)
        while (true) {
            packet.length = 512
            control.receive(packet)
            val from = packet.socketAddress
            val bytes = ByteBuffer.wrap(packet.data).order(ByteOrder.nativeOrder())
            val isConnect = bytes.getInt(TYPE) == CONNECT
            val data = if (isConnect) open(0) else null
            if (data != null) {
                client = InetSocketAddress(host, bytes.getInt(CONTROL_DATA))
                bytes.putInt(CONTROL_DATA, data.localPort)
            }
            back.send(DatagramPacket(packet.data, packet.length, host, simulator))
            packet.length = 512
            back.receive(packet)
            if (data != null) relay(data, bytes.getInt(CONTROL_DATA))
            control.send(DatagramPacket(packet.data, packet.length, from))
        }
    }

    private fun relay(
        back: DatagramSocket,
        number: Int,
    ) {
        val front = open(port + 1 + number)
        val there = InetSocketAddress(host, simulator + 1 + number)
        carry(front, back) { there }
        carry(back, front) { checkNotNull(client) }
    }

    private fun carry(
        from: DatagramSocket,
        to: DatagramSocket,
        where: () -> SocketAddress,
    ) = thread(isDaemon = true) {
        runCatching {
            while (true) {
                val packet = DatagramPacket(ByteArray(512), 512)
                from.receive(packet)
                repeat(copies()) {
                    val copy = DatagramPacket(packet.data, packet.length, where())
                    later.schedule({ send(to, copy) }, delay(), MILLISECONDS)
                }
            }
        }
    }

    private fun send(
        by: DatagramSocket,
        packet: DatagramPacket,
    ) = try {
        by.send(packet)
    } catch (_: IOException) {
        // The relay was closed, or its client has gone.
    }

    @Synchronized
    private fun copies(): Int {
        val chance = random.nextInt(100)
        return if (chance < lossPercent) {
            0
        } else if (chance < lossPercent + doublePercent) {
            2
        } else {
            1
        }
    }

    @Synchronized
    private fun delay(): Long = random.nextLong(delayMillis + 1L)

    override fun close() {
        later.shutdownNow()
        synchronized(sockets) { sockets.forEach { it.close() } }
    }
}
