package org.kverbs.management.trace

import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.transport.MadReceiver
import org.kverbs.management.transport.MadTransport
import org.kverbs.management.transport.MadTransportException
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
 * @throws java.io.IOException if the file cannot be written
 */
public fun MadTransport.captured(file: Path): MadTransport = CapturedTransport(this, MadCapture(file))

private class CapturedTransport(
    private val transport: MadTransport,
    private val capture: MadCapture,
) : MadTransport by transport {
    override fun send(
        mad: ByteArray,
        path: MadPath,
    ) {
        capture.record(mad, path, isSent = true, own(path))
        capture.check()
        transport.send(mad, path)
    }

    override fun send(
        mad: ByteArray,
        path: MadPath,
        patience: Duration,
    ) {
        capture.record(mad, path, isSent = true, own(path))
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
            capture.record(mad, back, isSent = false, own(back))
            receiver.received(mad, back)
        }
    }

    /** The LID of this port, for a path that does not name it. */
    private fun own(path: MadPath?): Int {
        if (path !is LidPath || path.source != null) return 0
        return try {
            transport.port().info.lid.value
        } catch (_: MadTransportException) {
            0
        }
    }

    override fun close() {
        transport.close()
        capture.close()
    }

    override fun toString() = "$transport"
}
