package org.kverbs.acceptance.contract

import java.net.InetAddress
import java.nio.ByteBuffer

/** A TCP segment over IPv4 or IPv6, as a receiver reads it. Its checksums and lengths were checked. */
internal class TcpSegment(
    val isIpv4: Boolean,
    val identification: Int,
    val sequence: Long,
    val flags: Int,
    val payload: ByteArray,
)

internal const val FIN = 1
internal const val PUSH = 8
internal const val ACK = 0x10
internal const val WINDOW_REDUCED = 0x80

/** Makes an IP packet that ends with its TCP header, with lengths and checksums that no segment has. */
internal fun tcpHeader(
    source: String,
    destination: String,
    sequence: Long = 1000,
    flags: Int = ACK,
    options: ByteArray = ByteArray(0),
): ByteArray {
    val tcp = ByteBuffer.allocate(20 + options.size)
    tcp.putShort(1234).putShort(80).putInt(sequence.toInt()).putInt(77)
    tcp
        .put(
            ((20 + options.size) / 4 shl 4).toByte(),
        ).put(flags.toByte())
        .putShort(512)
        .putShort(-1)
        .putShort(0)
        .put(options)
    val (from, to) = listOf(source, destination).map { InetAddress.getByName(it).address }
    val ip = ByteBuffer.allocate(if (from.size == 4) 20 else 40)
    if (from.size == 4) {
        ip.put(0x45).put(0).putShort(0).putShort(-1).putShort(0x4000).put(64).put(6).putShort(-1).put(from).put(to)
    } else {
        ip.putInt(0x60000000).putShort(0).put(6).put(64).put(from).put(to)
    }
    return ip.array() + tcp.array()
}

/** Reads an IP packet, and checks what its receiver checks. */
internal fun readTcp(packet: ByteArray): TcpSegment {
    val at = ByteBuffer.wrap(packet)
    val isIpv4 = packet[0].toInt() shr 4 == 4
    val ipLength = if (isIpv4) (packet[0].toInt() and 0xf) * 4 else 40
    if (isIpv4) {
        check(at.unsigned(2) == packet.size) { "total length ${at.unsigned(2)} of ${packet.size} bytes" }
        check(onesComplement(packet, 0, ipLength) == 0xffff) { "the checksum of the IPv4 header" }
    } else {
        check(at.unsigned(4) == packet.size - 40) { "payload length ${at.unsigned(4)} of ${packet.size} bytes" }
    }
    val addresses = if (isIpv4) packet.copyOfRange(12, 20) else packet.copyOfRange(8, 40)
    val tcp = packet.copyOfRange(ipLength, packet.size)
    val pseudo = addresses + ByteBuffer.allocate(8).putInt(tcp.size).putInt(6).array()
    check(onesComplement(pseudo + tcp, 0, pseudo.size + tcp.size) == 0xffff) { "the checksum of TCP" }
    val header = (tcp[12].toInt() and 0xf0) shr 2
    return TcpSegment(
        isIpv4,
        if (isIpv4) at.unsigned(4) else 0,
        ByteBuffer.wrap(tcp).getInt(4).toLong() and 0xffffffffL,
        tcp[13].toInt() and 0xff,
        tcp.copyOfRange(header, tcp.size),
    )
}

private fun ByteBuffer.unsigned(offset: Int) = getShort(offset).toInt() and 0xffff

/** Returns the ones' complement sum of 16-bit words, which is 0xffff over a range with its checksum (RFC 1071). */
private fun onesComplement(
    bytes: ByteArray,
    from: Int,
    until: Int,
): Int {
    var sum = 0
    for (i in from until until) {
        sum += (bytes[i].toInt() and 0xff) shl if ((i - from) % 2 == 0) 8 else 0
        sum = (sum and 0xffff) + (sum shr 16)
    }
    return sum
}
