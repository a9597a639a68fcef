package org.kverbs.cli.perf

import jdk.net.ExtendedSocketOptions
import org.kverbs.cli.pingpong.NoServer
import org.kverbs.cli.pingpong.Peer
import java.io.EOFException
import java.io.IOException
import java.net.InetAddress
import java.net.InetSocketAddress
import java.net.StandardSocketOptions
import java.nio.ByteBuffer
import java.nio.channels.SelectionKey
import java.nio.channels.Selector
import java.nio.channels.ServerSocketChannel
import java.nio.channels.SocketChannel
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource

/**
 * The TCP connection of two ends, by which they meet and by which each of them notices that the other has died. Any
 * thread can call; no call waits longer than [timeout], unless it is told to. Errors are [PerfException].
 */
internal class Wire(
    private val channel: SocketChannel,
    private val timeout: Duration,
) : AutoCloseable {
    private val selector = Selector.open()
    private val arrived = ByteBuffer.allocate(ROOM).flip()
    private var goneSince: TimeSource.Monotonic.ValueTimeMark? = null

    init {
        try {
            channel.configureBlocking(false)
            // A machine that is gone says nothing: the operating system asks it.
            channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true)
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true)
            channel.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, ASKING_SECONDS)
            channel.setOption(ExtendedSocketOptions.TCP_KEEPINTERVAL, ASKING_SECONDS)
            channel.setOption(ExtendedSocketOptions.TCP_KEEPCOUNT, 3)
            channel.register(selector, SelectionKey.OP_READ)
        } catch (e: IOException) {
            close()
            throw e
        }
    }

    /** The address of this machine by which the peer is reached. */
    val localAddress: InetAddress get() = (channel.localAddress as InetSocketAddress).address

    /** The address of the peer's machine. */
    val peerAddress: InetAddress get() = (channel.remoteAddress as InetSocketAddress).address

    /** Sends bytes. */
    @Synchronized
    fun write(bytes: ByteArray) =
        orFail("sending to the peer") {
            val left = ByteBuffer.wrap(bytes)
            val began = TimeSource.Monotonic.markNow()
            while (left.hasRemaining()) {
                if (channel.write(left) > 0) continue
                fill() // the peer may be writing, too, and reads when it is done
                if (began.elapsedNow() > timeout) throw IOException("it reads nothing")
                Thread.sleep(1)
            }
        }

    /** Waits for so many bytes. */
    @Synchronized
    fun read(
        count: Int,
        within: Duration = timeout,
    ): ByteArray =
        orFail("waiting for the peer") {
            await("$count bytes", within) { arrived.remaining() >= count }
            ByteArray(count).also { arrived.get(it) }
        }

    /** Waits for a line, and returns it without its end, which for other programs is a zero, too. */
    @Synchronized
    fun readLine(within: Duration = timeout): String =
        orFail("waiting for the peer") {
            val line = StringBuilder()
            val began = TimeSource.Monotonic.markNow() // of the line: a peer that sends it byte by byte gets no longer
            while (true) {
                await("a whole line", within, began) { arrived.hasRemaining() }
                val byte = arrived.get()
                if (isEndOfLine(byte)) break
                if (line.length == LONGEST_LINE) throw IOException("it sends a line of more than $LONGEST_LINE bytes")
                line.append(byte.toInt().toChar())
            }
            line.toString()
        }

    /** Sends a line; [text] has no end of line. */
    fun writeLine(text: String) = write("$text\n".encodeToByteArray())

    /** True if a whole line of the peer's has come, with its end, so that [readLine] does not wait. Never waits. */
    @Synchronized
    fun hasArrived(): Boolean {
        fill()
        return (arrived.position()..<arrived.limit()).any { isEndOfLine(arrived.get(it)) }
    }

    /**
     * Throws if the peer has closed the connection more than a second ago. A program of perftest closes it when its
     * part is done, while messages may still be under way.
     */
    @Synchronized
    fun requirePeer() {
        fill()
        val since = goneSince ?: return
        if (since.elapsedNow() > LAST_MESSAGES) throw PerfException(gone())
    }

    private fun gone() = "the peer at ${peerAddress.hostAddress} has closed the connection: it failed, or was ended"

    private inline fun await(
        what: String,
        within: Duration,
        began: TimeSource.Monotonic.ValueTimeMark = TimeSource.Monotonic.markNow(),
        isThere: () -> Boolean,
    ) {
        while (!isThere()) {
            fill()
            if (isThere()) return
            if (goneSince != null) throw EOFException()
            val left = within - began.elapsedNow()
            if (!left.isPositive()) {
                val limit = if (within == timeout) "--timeout" else "the test at its slowest, and --timeout"
                throw PerfException("the peer has not sent $what within $within ($limit)")
            }
            if (Thread.interrupted()) throw InterruptedException()
            selector.select(minOf(left, WAKE_UP).inWholeMilliseconds + 1)
            selector.selectedKeys().clear()
        }
    }

    private fun fill() {
        if (goneSince != null) return
        arrived.compact()
        val got =
            try {
                channel.read(arrived)
            } catch (_: IOException) {
                -1
            } finally {
                arrived.flip()
            }
        if (got < 0) goneSince = TimeSource.Monotonic.markNow()
    }

    private inline fun <T> orFail(
        doing: String,
        block: () -> T,
    ): T =
        try {
            block()
        } catch (e: EOFException) {
            throw PerfException(gone(), e)
        } catch (e: IOException) {
            throw PerfException("$doing: ${e.message}", e)
        }

    override fun close() {
        selector.close()
        channel.close()
    }

    companion object {
        private const val ASKING_SECONDS = 5
        private const val ROOM = 1 shl 20
        private const val LONGEST_LINE = 1 shl 19
        private val LAST_MESSAGES = 1.seconds

        private fun isEndOfLine(byte: Byte) = byte == '\n'.code.toByte() || byte == 0.toByte()

        private val WAKE_UP = 1.seconds

        /** Connects to a server, trying all the addresses of its name. */
        fun connect(
            server: Peer.Server,
            timeout: Duration,
        ): Wire {
            val addresses =
                try {
                    InetAddress.getAllByName(server.host)
                } catch (e: IOException) {
                    throw PerfException("there is no host ${server.host}", e)
                }
            val failures =
                addresses.map { address ->
                    val channel = SocketChannel.open()
                    try {
                        val millis = timeout.inWholeMilliseconds.toInt()
                        channel.socket().connect(InetSocketAddress(address, server.port), millis)
                        return Wire(channel, timeout)
                    } catch (e: IOException) {
                        channel.close()
                        e
                    }
                }
            val none = NoServer(failures, "start it there without HOST")
            throw PerfException(
                "no server answers at ${server.host}, TCP port ${server.port}: ${none.text}",
                none.cause,
            )
        }

        /** Waits for a client to connect; [listening] is told the place before. */
        fun accept(
            client: Peer.Client,
            timeout: Duration,
            listening: (Int) -> Unit,
        ): Wire {
            val place = "TCP port ${client.port}" + (client.address?.let { " of $it" } ?: "")
            return try {
                ServerSocketChannel.open().use { server ->
                    server.socket().reuseAddress = true
                    server.bind(InetSocketAddress(client.address?.let(InetAddress::getByName), client.port), 1)
                    server.configureBlocking(false)
                    listening((server.localAddress as InetSocketAddress).port)
                    Wire(accept(server, place, timeout), timeout)
                }
            } catch (e: IOException) {
                throw PerfException("can't listen at $place: ${e.message}; choose another by --port OTHER", e)
            }
        }

        private fun accept(
            server: ServerSocketChannel,
            place: String,
            timeout: Duration,
        ): SocketChannel =
            Selector.open().use { selector ->
                server.register(selector, SelectionKey.OP_ACCEPT)
                val began = TimeSource.Monotonic.markNow()
                while (began.elapsedNow() < timeout) {
                    server.accept()?.let { return it }
                    if (Thread.interrupted()) throw InterruptedException()
                    selector.select(WAKE_UP.inWholeMilliseconds)
                    selector.selectedKeys().clear()
                }
                throw PerfException("no client came to $place within $timeout (--timeout)")
            }
    }
}
