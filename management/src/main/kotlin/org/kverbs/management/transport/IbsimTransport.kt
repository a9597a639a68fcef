package org.kverbs.management.transport

import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortInfo
import java.io.IOException
import java.net.DatagramPacket
import java.net.DatagramSocket
import java.net.InetAddress
import java.net.InetSocketAddress
import java.net.PortUnreachableException
import java.nio.ByteBuffer
import java.util.concurrent.atomic.AtomicBoolean
import kotlin.concurrent.thread

private const val RECEIVE_BUFFER = 1 shl 20

/**
 * A port of a fabric that ibsim simulates, the InfiniBand fabric simulator of `ibsim-utils`. It speaks ibsim's UDP
 * protocol, so it needs no native library and no root.
 *
 * ```
 * IbsimTransport.connect(node = "H-0002c90300001491").use { transport -> println(transport.port()) }
 * ```
 *
 * `ibsim -r -s -n -l 7070 NETFILE` starts the simulator. Its byte order must be this machine's. It serves ten clients
 * at once; closing the transport frees the place.
 */
public class IbsimTransport private constructor(
    private val control: IbsimControl,
    private val data: DatagramSocket,
) : MadTransport {
    private val isClosed = AtomicBoolean()
    private val hasReceiver = AtomicBoolean()

    override fun port(): MadPort {
        check(!isClosed.get()) { CLOSED }
        val node = NodeInfo.at(control.ask(IbsimControl.NODE_INFO))
        return MadPort(control.node, node, PortInfo.at(control.ask(IbsimControl.PORT_INFO)))
    }

    override fun receive(receiver: MadReceiver) {
        check(hasReceiver.compareAndSet(false, true)) { "the transport has a receiver; one transport serves one" }
        thread(isDaemon = true, name = "kverbs-ibsim-${control.client}") { deliver(receiver) }
    }

    override fun send(
        mad: ByteArray,
        path: MadPath,
    ) {
        check(!isClosed.get()) { CLOSED }
        try {
            val bytes = IbsimDatagram.request(mad, path).array()
            data.send(DatagramPacket(bytes, bytes.size))
        } catch (_: PortUnreachableException) {
            // The simulator is gone, or not there yet again: as lost as on a wire that was pulled.
        } catch (e: IOException) {
            check(!isClosed.get()) { CLOSED }
            throw MadTransportException("ibsim at ${control.address} cannot be sent to: ${e.message}", e)
        }
    }

    private fun deliver(receiver: MadReceiver) {
        val bytes = ByteArray(2 * IbsimDatagram.SIZE)
        while (!isClosed.get()) {
            val packet = DatagramPacket(bytes, bytes.size)
            try {
                data.receive(packet)
            } catch (_: PortUnreachableException) {
                continue
            } catch (_: IOException) {
                // Such as a host that cannot be reached for a while. The socket tells each failure once.
                if (data.isClosed) return
                continue
            }
            if (packet.length != IbsimDatagram.SIZE) continue
            guarded { deliver(IbsimDatagram.parse(ByteBuffer.wrap(bytes)), receiver) }
        }
    }

    private fun deliver(
        datagram: IbsimDatagram,
        receiver: MadReceiver,
    ) {
        when {
            datagram.isUndelivered -> receiver.undelivered(datagram.mad)
            datagram.source.isUnicast -> receiver.received(datagram.mad, LidPath(datagram.source))
            else -> receiver.received(datagram.mad, null)
        }
    }

    override fun close() {
        if (isClosed.compareAndSet(false, true)) {
            data.close()
            control.close()
        }
    }

    /** Names the port. */
    override fun toString(): String = "ibsim at ${control.address}, node ${control.node}, client ${control.client}"

    /** Connects to a simulator. */
    public companion object {
        /** The port at which ibsim listens if `-l` names no other. */
        public const val DEFAULT_PORT: Int = 7070
        private const val CLOSED = "the transport is closed"

        /**
         * Connects to a simulator.
         *
         * @param host the host of the simulator
         * @param port the UDP port of the simulator
         * @param node the node whose first port this is, by its id or description in the net file; null for the
         *   first of the file
         * @throws MadTransportException if no simulator answers, or if it refuses
         */
        public fun connect(
            host: String = "127.0.0.1",
            port: Int = DEFAULT_PORT,
            node: String? = null,
        ): IbsimTransport {
            // No channel: a thread that is interrupted closes a channel by using it.
            val data = DatagramSocket(InetSocketAddress(InetAddress.getByName("0.0.0.0"), 0))
            var control: IbsimControl? = null
            var isConnected = false
            try {
                data.receiveBufferSize = RECEIVE_BUFFER
                val server = InetSocketAddress(InetAddress.getByName(host), port)
                control = IbsimControl(server, data.localPort, node.orEmpty())
                data.connect(InetSocketAddress(control.address.address, port + 1 + control.client))
                isConnected = true
                return IbsimTransport(control, data)
            } catch (e: IOException) {
                val why = e.message ?: "nothing listens there"
                throw MadTransportException("no ibsim answers at $host:$port: $why; $START", e)
            } finally {
                if (!isConnected) {
                    data.close()
                    control?.close()
                }
            }
        }

        private const val START = "start one with 'ibsim -r -s -n -l PORT NETFILE'"
    }
}
