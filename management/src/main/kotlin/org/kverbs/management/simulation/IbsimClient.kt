package org.kverbs.management.simulation

import org.kverbs.management.path.DirectedPath
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.path.directed
import org.kverbs.management.rmpp.Rmpp
import org.kverbs.management.rmpp.RmppSettings
import org.kverbs.management.rmpp.RmppTransport
import org.kverbs.management.transport.IbsimDatagram
import org.kverbs.management.transport.MAD_SIZE
import org.kverbs.management.transport.MadReceiver
import org.kverbs.structures.Lid
import java.io.IOException
import java.net.DatagramSocket
import java.nio.ByteBuffer
import java.nio.channels.DatagramChannel
import kotlin.coroutines.CoroutineContext

/**
 * A program at a port of the fabric that speaks ibsim's protocol. As the kernel, it cuts and joins long messages for
 * the program.
 *
 * @property id the number of the program
 */
internal class IbsimClient(
    val id: Int,
    private val place: SimulatedPort,
    private val channel: DatagramChannel,
    val node: String,
    context: CoroutineContext,
) : MadReceiver,
    AutoCloseable {
    private val transport = RmppTransport(place, RmppSettings(), context)
    private val buffer = ByteBuffer.allocate(IbsimDatagram.SIZE + 1)

    init {
        transport.receive(this)
    }

    /** The port of the fabric. */
    val port: Int get() = place.port

    /** Whether the program manages the subnet: it gets the requests to its port. */
    var manages: Boolean by place::takesRequests

    /** Whether the program has ended: then its UDP port is free. */
    val isGone: Boolean
        get() = runCatching { DatagramSocket(channel.remoteAddress).close() }.isSuccess

    /** Sends what the program has written. False if the program is gone. */
    fun read(): Boolean {
        try {
            while (true) {
                buffer.clear()
                if (channel.read(buffer) <= 0) return true
                if (buffer.position() == IbsimDatagram.SIZE) send(buffer)
            }
        } catch (_: IOException) {
            return false
        }
    }

    private fun send(written: ByteBuffer) {
        val mad = IbsimDatagram.parse(written).mad
        val path = path(mad, IbsimDatagram.destination(written))
        try {
            if (path == null) undelivered(mad) else transport.send(whole(mad, IbsimDatagram.length(written)), path)
        } catch (_: IllegalStateException) {
            // The simulation was closed meanwhile.
        }
    }

    /** A long message ends with the last record that is whole: the datagram has room for 200 bytes of them. */
    private fun whole(
        mad: ByteArray,
        length: Int,
    ): ByteArray {
        if (!Rmpp.isActive(mad) || length < Rmpp.dataAt(Rmpp.mgmtClass(mad))) return mad
        if (Rmpp.mgmtClass(mad) != Mads.ADMINISTRATION) return mad.copyOf(length)
        val apart = Wire.u16(mad, Administration.OFFSET_AT) * Administration.UNIT
        val data = length - Administration.DATA
        return mad.copyOf(Administration.DATA + if (apart == 0) data else data / apart * apart)
    }

    /** The hops of a directed route are in the datagram. */
    private fun path(
        mad: ByteArray,
        destination: Lid,
    ): MadPath? =
        when {
            destination.isUnicast || destination.isMulticast -> LidPath(destination)
            Mads.isDirected(mad) -> LOCAL
            else -> null
        }

    override fun received(
        mad: ByteArray,
        back: MadPath?,
    ) = write(IbsimDatagram.arrival(mad.copyOf(MAD_SIZE), (back as? LidPath)?.destination, isUndelivered = false))

    override fun undelivered(mad: ByteArray) =
        write(IbsimDatagram.arrival(mad.copyOf(MAD_SIZE), null, isUndelivered = true))

    private fun write(datagram: ByteBuffer) {
        try {
            channel.write(datagram)
        } catch (_: IOException) {
            // The program is gone: the server's thread finds that out at the next datagram.
        }
    }

    override fun close() {
        transport.close()
        channel.close()
    }

    private companion object {
        val LOCAL: DirectedPath = directed(0)
    }
}
