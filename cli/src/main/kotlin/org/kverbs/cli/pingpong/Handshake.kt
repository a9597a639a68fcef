package org.kverbs.cli.pingpong

import org.kverbs.attributes.Gid
import org.kverbs.attributes.QueuePairEndpoint
import java.io.IOException
import java.net.InetAddress
import java.net.InetSocketAddress
import java.net.ServerSocket
import java.net.Socket
import java.net.SocketTimeoutException
import java.net.UnknownHostException
import kotlin.time.Duration
import kotlin.time.TimeSource

/**
 * How two ping-pongs tell each other their addresses over TCP, the way of ibv_rc_pingpong(1), ibv_uc_pingpong(1) and
 * ibv_ud_pingpong(1) of rdma-core 44: the client sends its address, the server connects its queue pair and answers with
 * its own, and the client says "done". Then the client must close the connection, which the C server waits for.
 *
 * Every step ends when [timeout] has passed, however slowly the peer's bytes drip. Errors are [PingPongException].
 */
internal class Handshake(
    private val socket: Socket,
    private val timeout: Duration,
) : AutoCloseable {
    /** The client's side: gives the address of the server. */
    fun asClient(local: QueuePairEndpoint): QueuePairEndpoint =
        step("exchanging addresses with the server") {
            send(addressText(local))
            parseAddress(receive(ADDRESS_BYTES)).also { send(DONE) }
        }

    /** The server's side: gives the address of the client, after [connect] has made the queue pair ready for it. */
    fun asServer(
        local: QueuePairEndpoint,
        connect: (QueuePairEndpoint) -> Unit,
    ): QueuePairEndpoint =
        step("exchanging addresses with the client") {
            val remote = parseAddress(receive(ADDRESS_BYTES))
            connect(remote)
            send(addressText(local))
            val done = receive(DONE.length).decodeToString()
            if (done != DONE) {
                throw PingPongException(
                    "the client ended the exchange of addresses with ${shown(done)}, not \"done\"",
                )
            }
            remote
        }

    private fun send(text: String) = socket.getOutputStream().write(text.encodeToByteArray())

    private fun receive(count: Int): ByteArray {
        val began = TimeSource.Monotonic.markNow()
        val bytes = ByteArray(count)
        var got = 0
        while (got < count) {
            val left = timeout - began.elapsedNow()
            if (!left.isPositive()) throw SocketTimeoutException()
            socket.soTimeout = left.inWholeMilliseconds.toInt().coerceAtLeast(1)
            val more = socket.getInputStream().read(bytes, got, count - got)
            if (more < 0) {
                throw PingPongException(
                    "the peer closed the connection after $got of $count bytes; does it run the same --type?",
                )
            }
            got += more
        }
        return bytes
    }

    private fun <T> step(
        what: String,
        block: () -> T,
    ): T =
        try {
            block()
        } catch (e: SocketTimeoutException) {
            throw PingPongException("$what: nothing came within $timeout (--timeout)", e)
        } catch (e: IOException) {
            throw PingPongException("$what: ${e.message}", e)
        }

    override fun close() = socket.close()

    companion object {
        /** "done" and the end of a C string. */
        private const val DONE = "done\u0000"

        /** LID, queue pair number, PSN and GID in hexadecimal, and the end of a C string. */
        private const val ADDRESS_BYTES = 4 + 1 + 6 + 1 + 6 + 1 + 32 + 1

        private val ADDRESS = Regex("([0-9a-fA-F]{4}):([0-9a-fA-F]{6}):([0-9a-fA-F]{6}):([0-9a-fA-F]{32})\u0000")

        /** The address as it goes over the wire. */
        fun addressText(endpoint: QueuePairEndpoint): String =
            "%04x:%06x:%06x:%s\u0000".format(
                endpoint.lid(),
                endpoint.queuePairNumber(),
                endpoint.psn(),
                endpoint.gid().toWire(),
            )

        /** Reads what a peer sent; whatever it is, it does no more than fail here. */
        fun parseAddress(bytes: ByteArray): QueuePairEndpoint {
            val text = bytes.toString(Charsets.ISO_8859_1)
            val match =
                ADDRESS.matchEntire(text)
                    ?: throw PingPongException(
                        "the peer's address should be LLLL:QQQQQQ:PPPPPP: and 32 digits, but is ${shown(text)}",
                    )
            val (lid, qpn, psn, gid) = match.destructured
            // The C programs don't say their MTU, and agree on the Q_Key without a word.
            return QueuePairEndpoint(lid.hexToInt(), Gid.parse(gid), qpn.hexToInt(), psn.hexToInt(), 0, QKEY)
        }

        /** A stranger's text, so that it can't drive the terminal. */
        private fun shown(text: String) =
            text
                .take(100)
                .map {
                    if (it in ' '..'~') {
                        it
                    } else {
                        '?'
                    }
                }.joinToString("", "\"", "\"")

        /** Connects to a server, trying all the addresses of its name. */
        fun connect(
            host: String,
            port: Int,
            timeout: Duration,
        ): Handshake {
            val addresses =
                try {
                    InetAddress.getAllByName(host)
                } catch (e: UnknownHostException) {
                    throw PingPongException("there is no host $host", e)
                }
            val failures =
                addresses.map { address ->
                    val socket = Socket()
                    try {
                        socket.connect(InetSocketAddress(address, port), timeout.inWholeMilliseconds.toInt())
                        return Handshake(socket, timeout)
                    } catch (e: IOException) {
                        socket.close()
                        e
                    }
                }
            val last = failures.last()
            throw PingPongException(
                "no server answers at $host, TCP port $port: ${last.message}; start it there with --listen",
                last,
            )
        }

        /** Waits for a client to connect, and says before that it does. */
        fun accept(
            client: Peer.Client,
            timeout: Duration,
            listening: (String) -> Unit = {},
        ): Handshake {
            val place = "TCP port ${client.port}" + (client.address?.let { " of $it" } ?: "")
            return try {
                ServerSocket(client.port, 1, client.address?.let(InetAddress::getByName)).use { server ->
                    server.soTimeout = timeout.inWholeMilliseconds.toInt()
                    listening(place)
                    Handshake(server.accept(), timeout)
                }
            } catch (e: SocketTimeoutException) {
                throw PingPongException("no client came to $place within $timeout (--timeout)", e)
            } catch (e: IOException) {
                throw PingPongException("listening at $place: ${e.message}; --port chooses another", e)
            }
        }
    }
}
