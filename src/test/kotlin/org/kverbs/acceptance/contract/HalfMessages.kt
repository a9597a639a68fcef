package org.kverbs.acceptance.contract

import jdk.net.ExtendedSocketOptions
import org.kverbs.QueuePair
import java.net.InetAddress
import java.net.InetSocketAddress
import java.net.StandardProtocolFamily
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.channels.DatagramChannel
import java.util.zip.CRC32

private const val ROCE_PORT = 4791
private const val IP_HEADER = 20
private const val UDP_HEADER = 8
private const val BTH = 12
private const val ICRC = 4
private const val SEND_FIRST = 0
private const val MIGRATED = 0x40
private const val DEFAULT_PKEY = 0xffff
private const val ALL_ONES = -1
private const val DONT_FRAGMENT = 0x4000
private const val UDP = 17

/**
 * Begins messages of RC queue pairs without ending them, which no device does: sends the first packet of each from a
 * socket (IBA volume 1, 9.2 and annex A17; IPv4 only).
 *
 * @param ip the address of the queue pairs' devices, on both sides
 */
internal class HalfMessages(
    ip: String,
) : AutoCloseable {
    private val address = InetAddress.ofLiteral(ip)
    private val socket =
        DatagramChannel.open(StandardProtocolFamily.INET).apply {
            setOption(ExtendedSocketOptions.IP_DONTFRAGMENT, true) // Linux numbers these 0
            bind(InetSocketAddress(address, 0))
        }
    private val port = (socket.localAddress as InetSocketAddress).port

    /** Begins a message in the name of a connected queue pair that has sent nothing. */
    fun begin(queuePair: QueuePair) {
        val state = queuePair.query()
        val payload = state.pathMtu().bytes()
        val packet = ByteBuffer.allocate(BTH + payload + ICRC)
        packet.put(SEND_FIRST.toByte()).put(MIGRATED.toByte()).putShort(DEFAULT_PKEY.toShort())
        packet.putInt(state.destQpn()).putInt(state.sqPsn())
        packet.position(BTH + payload)
        packet.order(ByteOrder.LITTLE_ENDIAN).putInt(checksum(packet.array(), BTH + payload)).flip()
        check(socket.send(packet, InetSocketAddress(address, ROCE_PORT)) == packet.capacity())
    }

    /**
     * Returns the checksum of a packet: of its headers, with ones for fields that may change on the way, and its
     * payload.
     */
    private fun checksum(
        packet: ByteArray,
        length: Int,
    ): Int {
        val udpLength = UDP_HEADER + length + ICRC
        val headers =
            ByteBuffer
                .allocate(Long.SIZE_BYTES + IP_HEADER + UDP_HEADER)
                .putLong(-1)
                .put(0x45)
                .put(ALL_ONES.toByte())
                .putShort((IP_HEADER + udpLength).toShort())
                .putShort(0)
                .putShort(DONT_FRAGMENT.toShort())
                .put(ALL_ONES.toByte())
                .put(UDP.toByte())
                .putShort(ALL_ONES.toShort())
                .put(address.address)
                .put(address.address)
                .putShort(port.toShort())
                .putShort(ROCE_PORT.toShort())
                .putShort(udpLength.toShort())
                .putShort(ALL_ONES.toShort())
        val masked = packet.copyOf(length).also { it[4] = ALL_ONES.toByte() }
        return CRC32().run {
            update(headers.array())
            update(masked)
            value.toInt()
        }
    }

    override fun close() = socket.close()
}
