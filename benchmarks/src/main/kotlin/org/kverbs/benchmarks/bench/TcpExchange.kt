package org.kverbs.benchmarks.bench

import java.io.EOFException
import java.net.InetAddress
import java.net.InetSocketAddress
import java.net.StandardSocketOptions
import java.nio.ByteBuffer
import java.nio.channels.ServerSocketChannel
import java.nio.channels.SocketChannel

/** Blocking channels of TCP on the loopback, without Nagle's delay. */
internal class TcpExchange : Exchange {
    private val near: SocketChannel
    private val far: SocketChannel
    private val nearBytes = ByteBuffer.allocateDirect(Exchange.LONGEST)
    private val farBytes = ByteBuffer.allocateDirect(Exchange.LONGEST)

    init {
        ServerSocketChannel.open().use { server ->
            server.bind(InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            near = SocketChannel.open(server.localAddress)
            far = server.accept()
        }
        listOf(near, far).forEach { it.setOption(StandardSocketOptions.TCP_NODELAY, true) }
    }

    override fun ask(
        bytes: Int,
        count: Int,
    ) = repeat(count) {
        write(near, nearBytes, bytes)
        read(near, nearBytes, bytes)
    }

    override fun answer(
        bytes: Int,
        count: Int,
    ) = repeat(count) {
        read(far, farBytes, bytes)
        write(far, farBytes, bytes)
    }

    override fun send(
        bytes: Int,
        count: Int,
    ) = repeat(count) { write(near, nearBytes, bytes) }

    override fun receive(
        bytes: Int,
        count: Int,
    ) = repeat(count) { read(far, farBytes, bytes) }

    private fun write(
        to: SocketChannel,
        buffer: ByteBuffer,
        bytes: Int,
    ) {
        buffer.clear().limit(bytes)
        while (buffer.hasRemaining()) to.write(buffer)
    }

    private fun read(
        from: SocketChannel,
        buffer: ByteBuffer,
        bytes: Int,
    ) {
        buffer.clear().limit(bytes)
        while (buffer.hasRemaining()) if (from.read(buffer) < 0) throw EOFException("the other end was closed")
    }

    override fun close() {
        near.close()
        far.close()
    }
}
