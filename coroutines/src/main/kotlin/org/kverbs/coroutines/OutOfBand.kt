package org.kverbs.coroutines

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.runInterruptible
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.dsl.ConnectedVerbs
import java.io.EOFException
import java.net.ProtocolException
import java.nio.ByteBuffer
import java.nio.channels.SocketChannel

/** Longest line in bytes. An endpoint needs 79; the note can be longer. */
private const val LONGEST_LINE = 4096
private const val READY = "ready"

/**
 * Connects to the queue pair at the other end of a TCP connection, without a connection manager. Each end sends its
 * endpoint and a note, connects, and confirms. Both ends call this; when it returns, both can send.
 *
 * ```
 * SocketChannel.open(InetSocketAddress("server", 7000)).use { socket ->
 *     // at the other end: qp.connectOver(server.accept(), note = region.remote().toText())
 *     val table = RemoteMemory.parse(qp.connectOver(socket))
 * }
 * ```
 *
 * Each end sends three lines of UTF-8: [QueuePairEndpoint.toText], the note, and `ready`. They are not protected: a
 * reader of the network traffic learns the keys.
 *
 * **Ownership.** The caller keeps the socket, which is not used after this has returned. The socket stays open if this
 * succeeds; a failure closes it, so that the other end fails, too.
 *
 * **Cancellation** closes the socket and ends this at once. This has no timeout of its own: use `withTimeout`.
 *
 * @param socket in blocking mode; its I/O runs on [Dispatchers.IO]
 * @param note a line for the other end, such as the keys of memory, at most 4096 bytes
 * @param prepared posts the first receives with [postReceive]; runs when the queue pair can take receives and the other
 *   end cannot send yet
 * @return the other end's note
 * @throws IllegalArgumentException if the note is longer than one line or 4096 bytes
 * @throws java.io.IOException if the socket fails: an [EOFException] if the other end closes it, a [ProtocolException]
 *   if the other end sends anything else
 * @throws org.kverbs.RdmaSystemException if the device refuses to connect
 */
public suspend fun AsyncQueuePair<ConnectedVerbs>.connectOver(
    socket: SocketChannel,
    note: String = "",
    options: ConnectOptions = ConnectOptions.DEFAULTS,
    prepared: () -> Unit = {},
): String =
    exchangeOver(socket, note, endpoint(options)) {
        connect(it, options)
        prepared()
    }

/** Exchanges the endpoints and the notes over a socket, and confirms when [connect] has returned at both ends. */
internal suspend fun exchangeOver(
    socket: SocketChannel,
    note: String,
    endpoint: QueuePairEndpoint,
    connect: (QueuePairEndpoint) -> Unit,
): String {
    val mine = note.encodeToByteArray()
    require(
        '\n' !in note && mine.size <= LONGEST_LINE,
    ) { "a note of ${mine.size} bytes can't be sent: give one line of at most $LONGEST_LINE bytes" }
    try {
        return runInterruptible(Dispatchers.IO) {
            socket.sendLine(endpoint.toText().encodeToByteArray())
            socket.sendLine(mine)
            val theirs = socket.line()
            val told = socket.line()
            connect(endpointOf(theirs, socket))
            socket.sendLine(READY.encodeToByteArray())
            val last = socket.line()
            if (last != READY) {
                throw ProtocolException(
                    "${socket.remoteAddress} sent '${last.take(
                        100,
                    )}' instead of '$READY': call connectOver at both ends",
                )
            }
            told
        }
    } catch (e: Throwable) {
        socket.close()
        currentCoroutineContext().ensureActive() // a cancelled socket throws its own exception
        throw e
    }
}

private fun endpointOf(
    line: String,
    socket: SocketChannel,
): QueuePairEndpoint =
    try {
        QueuePairEndpoint.parse(line)
    } catch (e: IllegalArgumentException) {
        throw ProtocolException(
            "${socket.remoteAddress} did not send its queue pair; call connectOver at both ends: ${e.message}",
        ).initCause(e)
    }

private fun SocketChannel.sendLine(bytes: ByteArray) {
    val line = ByteBuffer.wrap(bytes + '\n'.code.toByte())
    while (line.hasRemaining()) write(line)
}

/** Reads a line byte by byte: the bytes after the last line belong to the caller. */
private fun SocketChannel.line(): String {
    val line = ByteBuffer.allocate(LONGEST_LINE + 1)
    while (line.hasRemaining()) {
        line.limit(line.position() + 1)
        if (read(line) < 0) {
            throw EOFException(
                "$remoteAddress closed the socket before both queue pairs were connected; see at the peer why",
            )
        }
        if (line[line.position() - 1] == '\n'.code.toByte()) {
            return String(line.array(), 0, line.position() - 1, Charsets.UTF_8)
        }
        line.limit(line.capacity())
    }
    throw ProtocolException(
        "$remoteAddress sent a line of more than $LONGEST_LINE bytes; call connectOver at both ends",
    )
}
