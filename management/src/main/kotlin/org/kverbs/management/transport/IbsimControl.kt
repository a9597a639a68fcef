package org.kverbs.management.transport

import java.io.IOException
import java.net.DatagramPacket
import java.net.DatagramSocket
import java.net.InetSocketAddress
import java.net.SocketTimeoutException
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.concurrent.locks.ReentrantLock
import kotlin.concurrent.withLock
import kotlin.time.Duration.Companion.nanoseconds
import kotlin.time.Duration.Companion.seconds

private const val MAGIC = 0xdeadbeef.toInt()
private const val DATA = 16
private const val DATA_SIZE = 64
private const val NODE_SIZE = 32
private const val NODE = 12
private const val TYPE = 8
private val ANSWER = 5.seconds

private const val ERROR = 0
private const val CONNECT = 1
private const val DISCONNECT = 2

/**
 * The control side of ibsim's protocol: 80 bytes there, 80 bytes back, in the machine's byte order. They are a magic
 * number, the client's id, a type, a length, and 64 bytes of data.
 */
internal class IbsimControl(
    val address: InetSocketAddress,
    dataPort: Int,
    wanted: String,
) : AutoCloseable {
    private val socket: DatagramSocket
    private val lock = ReentrantLock()

    /** The number that the simulator gave this client. */
    var client: Int = 0
        private set

    /** The id of the node that the client is attached to. */
    val node: String

    init {
        val name = wanted.encodeToByteArray()
        require(name.size < NODE_SIZE) { "\"$wanted\" is too long for ibsim: give a node id of less than 32 bytes" }
        socket = DatagramSocket(null)
        try {
            socket.connect(address)
            val info = ByteBuffer.allocate(DATA_SIZE).order(ByteOrder.nativeOrder())
            info.putInt(dataPort).position(NODE).put(name)
            val answer = exchange(CONNECT, info.array(), NODE + NODE_SIZE)
            client = ByteBuffer.wrap(answer).order(ByteOrder.nativeOrder()).getInt()
            node = answer.decodeToString(NODE, NODE + NODE_SIZE).substringBefore('\u0000')
        } catch (e: IOException) {
            socket.close()
            throw e
        } catch (e: MadTransportException) {
            socket.close()
            val shown = wanted.ifEmpty { "its default node" }
            throw MadTransportException(
                "ibsim at $address does not attach a client to $shown; see that the net file has the node, " +
                    "and that fewer than ten clients are connected",
                e,
            )
        }
    }

    /** Returns the 64 bytes that the simulator answers to a question. */
    fun ask(type: Int): ByteArray =
        try {
            exchange(type, ByteArray(DATA_SIZE), 0)
        } catch (e: IOException) {
            throw MadTransportException("ibsim at $address does not answer: ${e.message}; see that it runs", e)
        }

    private fun exchange(
        type: Int,
        data: ByteArray,
        length: Int,
    ): ByteArray =
        lock.withLock {
            val buffer = ByteBuffer.allocate(DATA + DATA_SIZE).order(ByteOrder.nativeOrder())
            buffer
                .putInt(MAGIC)
                .putInt(client)
                .putInt(type)
                .putInt(length)
                .put(data)
            socket.send(DatagramPacket(buffer.array(), buffer.capacity()))
            receive(type, buffer)
            buffer.array().copyOfRange(DATA, DATA + DATA_SIZE)
        }

    /** Receives the answer to a question of [type], and drops the late answers to earlier ones. */
    private fun receive(
        type: Int,
        buffer: ByteBuffer,
    ) {
        val end = System.nanoTime() + ANSWER.inWholeNanoseconds
        do {
            val left = (end - System.nanoTime()).nanoseconds.inWholeMilliseconds
            if (left <= 0) throw SocketTimeoutException("no answer within $ANSWER")
            socket.soTimeout = left.toInt()
            val packet = DatagramPacket(buffer.array(), buffer.capacity())
            socket.receive(packet)
            val answered = buffer.getInt(TYPE)
            if (packet.length < buffer.capacity() || buffer.getInt(0) != MAGIC || answered == ERROR) {
                throw MadTransportException("ibsim at $address refuses the control datagram of type $type")
            }
        } while (answered != type)
    }

    override fun close() {
        try {
            exchange(DISCONNECT, ByteArray(DATA_SIZE), 0)
        } catch (_: IOException) {
            // The simulator is gone, and its clients with it.
        } catch (_: MadTransportException) {
            // It does not know this client any more.
        }
        socket.close()
    }

    companion object {
        const val NODE_INFO = 7
        const val PORT_INFO = 8
    }
}
