package org.kverbs.management.trace

import org.kverbs.RdmaException
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.transport.MadReceiver
import org.kverbs.management.transport.MadTransport
import org.kverbs.management.transport.closeAll
import java.nio.file.Path
import kotlin.time.Duration

/**
 * Writes all datagrams of a transport to a pcap file while the transport is used: those that it sends, and those that
 * it receives, packets of long messages among them. `tshark -r FILE` and Wireshark decode them.
 *
 * Where the kernel joins long messages, the file has their first 256 bytes. If a datagram cannot be written, as on a
 * full disk, this and each later `send` throws an `IOException`, and so does `close`.
 *
 * @param file replaced if it is there; complete when the transport is closed
 * @throws java.io.IOException if the file cannot be written. The transport is closed then.
 */
public fun MadTransport.captured(file: Path): MadTransport {
    var capture: MadCapture? = null
    try {
        capture = MadCapture(file)
        return CapturedTransport(this, capture)
    } finally {
        if (capture == null) close()
    }
}

private class CapturedTransport(
    private val transport: MadTransport,
    private val capture: MadCapture,
) : MadTransport by transport {
    override fun send(
        mad: ByteArray,
        path: MadPath,
    ) {
        capture.record(mad, path, isSent = true, asked(path))
        capture.check()
        transport.send(mad, path)
    }

    override fun send(
        mad: ByteArray,
        path: MadPath,
        patience: Duration,
    ) {
        capture.record(mad, path, isSent = true, asked(path))
        capture.check()
        transport.send(mad, path, patience)
    }

    override fun receive(receiver: MadReceiver) = transport.receive(Recording(receiver))

    private inner class Recording(
        private val receiver: MadReceiver,
    ) : MadReceiver by receiver {
        override fun received(
            mad: ByteArray,
            back: MadPath?,
        ) {
            capture.record(mad, back, isSent = false, if (isWithoutSource(back)) lid else 0)
            receiver.received(mad, back)
        }
    }

    @Volatile
    private var lid = 0

    @Volatile
    private var askedAt = System.nanoTime() - FRESH_NANOS

    private fun isWithoutSource(path: MadPath?) = path is LidPath && path.source == null

    /** The LID of this port, for a path that does not name it. A thread that sends asks for it, once a second. */
    private fun asked(path: MadPath): Int {
        if (!isWithoutSource(path)) return 0
        val now = System.nanoTime()
        if (now - askedAt >= FRESH_NANOS) {
            askedAt = now
            try {
                lid = transport.port().info.lid.value
            } catch (_: RdmaException) {
                lid = 0
            }
        }
        return lid
    }

    override fun close() = closeAll(transport, capture)

    override fun toString() = "$transport"

    private companion object {
        private const val FRESH_NANOS = 1_000_000_000L
    }
}
