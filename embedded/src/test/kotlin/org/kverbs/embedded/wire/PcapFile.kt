package org.kverbs.embedded.wire

import java.nio.ByteBuffer
import java.nio.ByteOrder

/** A UDP packet of a capture: the fields of its IP and UDP headers, and the UDP payload with the ICRC. */
internal class Frame(
    val v4: Boolean,
    val source: ByteBuffer,
    val destination: ByteBuffer,
    val identification: Int,
    val sourcePort: Int,
    val destinationPort: Int,
    val udpPayload: ByteArray,
) {
    /** The length without the ICRC. */
    val length = udpPayload.size - 4
}

/** Reads the files beside the README in captures/. */
internal object PcapFile {
    val names =
        listOf(
            "rc",
            "uc",
            "ud",
            "write",
            "write-uc",
            "read",
            "fetch-add",
            "compare-swap",
            "rping",
            "udaddy",
            "rc-ipv6",
            "ud-ipv6",
        )

    fun frames(name: String): List<Frame> {
        val stream =
            checkNotNull(PcapFile::class.java.getResourceAsStream("/captures/$name.pcap")) { "no capture named $name" }
        return read(stream.use { it.readBytes() })
    }

    /**
     * Returns all packets of a classic pcap file whose link is Ethernet (1) or IP itself (101), written in either byte
     * order.
     */
    fun read(file: ByteArray): List<Frame> {
        val bytes = ByteBuffer.wrap(file)
        if (bytes.getInt(0) != 0xa1b2c3d4.toInt() && bytes.getInt(0) != 0xa1b23c4d.toInt()) {
            bytes.order(ByteOrder.LITTLE_ENDIAN)
        }
        val linkHeader =
            when (val type = bytes.getInt(20)) {
                1 -> 14
                101 -> 0
                else -> error("link type $type")
            }
        return buildList {
            var at = 24
            while (at < file.size) {
                val length = bytes.getInt(at + 8)
                check(length == bytes.getInt(at + 12)) { "the capture holds a truncated packet" }
                add(frame(ByteBuffer.wrap(file, at + 16 + linkHeader, length - linkHeader).slice()))
                at += 16 + length
            }
        }
    }

    private fun frame(ip: ByteBuffer): Frame {
        val v4 = ip.get(0).toInt() shr 4 == 4
        val udp = ip.slice(if (v4) 20 else 40, ip.limit() - if (v4) 20 else 40)
        val payload = ByteArray(udp.getShort(4).toUShort().toInt() - 8)
        udp.get(8, payload)
        return Frame(
            v4,
            if (v4) ip.slice(12, 4) else ip.slice(8, 16),
            if (v4) ip.slice(16, 4) else ip.slice(24, 16),
            if (v4) ip.getInt(4) else 0,
            udp.getShort(0).toUShort().toInt(),
            udp.getShort(2).toUShort().toInt(),
            payload,
        )
    }
}
