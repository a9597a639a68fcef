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
import java.util.Locale
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.TimeSource

/**
 * Exchanges the addresses of two ping-pongs over TCP, as ibv_rc_pingpong(1), ibv_uc_pingpong(1) and
 * ibv_ud_pingpong(1) of rdma-core 44: the client sends its address, the server connects its queue pair and answers with
 * its own, and the client says "done". Then the client must close the connection, which the C server waits for.
 *
 * Two ends of kverbs also exchange their [Rules]. The server sends its rules after it has read "done"; a C client has
 * closed the connection by then. The client answers with its own rules; a C server sends none to answer.
 *
 * Every step ends when [timeout] has passed, however slowly the peer's bytes drip. Errors are [PingPongException].
 */
internal class Handshake(
    private val socket: Socket,
    private val timeout: Duration,
) : AutoCloseable {
    /** The address of the other program. */
    val peerAddress: InetAddress = socket.inetAddress

    /** The client's side: gives the address of the server, and its rules if it is one of ours. */
    fun asClient(
        local: QueuePairEndpoint,
        rules: Rules,
    ): Pair<QueuePairEndpoint, Rules?> =
        step("exchanging addresses with the server") {
            send(addressText(local))
            val remote = parseAddress(receive(ADDRESS_BYTES))
            send(DONE)
            remote to receiveRules(minOf(timeout, C_SERVER_IS_SILENT))?.also { send(rules.toLine()) }
        }

    /**
     * The server's side: gives the address of the client, after [connect] has made the queue pair ready for it, and its
     * rules if it is one of ours.
     */
    fun asServer(
        local: QueuePairEndpoint,
        rules: Rules,
        connect: (QueuePairEndpoint) -> Unit,
    ): Pair<QueuePairEndpoint, Rules?> =
        step("exchanging addresses with the client") {
            val remote = parseAddress(receive(ADDRESS_BYTES))
            connect(remote)
            send(addressText(local))
            val done = receive(DONE.length).decodeToString()
            if (done != DONE) {
                throw PingPongException("the client ended the exchange of addresses with ${shown(done)}, not \"done\"")
            }
            remote to tell(rules)
        }

    /** Exchanges the rules with the client. Fails if a C client has closed the connection; then there are none. */
    private fun tell(rules: Rules): Rules? =
        try {
            send(rules.toLine())
            receiveRules(timeout)
        } catch (_: IOException) {
            null
        }

    /** A line of the peer's, if one comes [within] this time and is one of ours. */
    private fun receiveRules(within: Duration): Rules? {
        val line = StringBuilder()
        socket.soTimeout = within.inWholeMilliseconds.toInt().coerceAtLeast(1)
        try {
            while (line.length < Rules.MOST) {
                val byte = socket.getInputStream().read()
                if (byte < 0) return null
                if (byte == '\n'.code) return Rules.parse(line.toString())
                line.append(byte.toChar())
            }
        } catch (_: IOException) {
            return null // nothing came in time, or the peer is gone: both is what ping-pongs of rdma-core do
        }
        return null
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

        /** Our servers answer "done" at once. */
        private val C_SERVER_IS_SILENT = 250.milliseconds

        /** LID, queue pair number, PSN and GID in hexadecimal, and the end of a C string. */
        private const val ADDRESS_BYTES = 4 + 1 + 6 + 1 + 6 + 1 + 32 + 1

        private val ADDRESS = Regex("([0-9a-fA-F]{4}):([0-9a-fA-F]{6}):([0-9a-fA-F]{6}):([0-9a-fA-F]{32})\u0000")

        /** The address as it goes over the wire. */
        fun addressText(endpoint: QueuePairEndpoint): String =
            "%04x:%06x:%06x:%s\u0000".format(
                Locale.ROOT,
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
            val none = NoServer(failures, "start it there with --listen")
            throw PingPongException("no server answers at $host, TCP port $port: ${none.text}", none.cause)
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
                throw PingPongException("can't listen at $place: ${e.message}; choose another by --port OTHER", e)
            }
        }
    }
}
