package org.kverbs.ibtool.decode

import org.kverbs.management.structures.BTH
import org.kverbs.management.structures.DETH
import org.kverbs.management.structures.LRH
import org.kverbs.management.transport.MAD_SIZE

/** A management datagram in a packet, and the addresses of the packet. */
internal class Found(
    val mad: ByteArray,
    val addresses: String,
)

/** Finds management datagrams in packets of InfiniBand (IBA volume 1, chapter 5) and RoCE (annexes A16 and A17). */
internal object Packets {
    private const val ETHERNET = 1
    private const val ERF = 197
    private const val INFINIBAND = 247

    /** The link types of pcap files whose packets are known. */
    val linkTypes = setOf(ETHERNET, ERF, INFINIBAND)

    private const val ERF_HEADER = 16
    private const val ERF_EXTENSION = 8
    private const val ERF_MORE = 0x80
    private const val ERF_INFINIBAND = 21
    private const val GLOBAL = 3
    private const val LOCAL = 2
    private const val GLOBAL_HEADER = 40
    private const val UD_SEND = 0x64
    private const val UD_SEND_IMMEDIATE = 0x65
    private const val IMMEDIATE = 4
    private const val GENERAL_SERVICES_KEY = 0x80010000L

    /** The datagram of a packet, or null if it carries none. */
    fun datagram(
        packet: ByteArray,
        linkType: Int,
    ): Found? =
        when (linkType) {
            ERF -> erf(packet)
            INFINIBAND -> local(packet, 0)
            else -> ethernet(packet)
        }

    private fun erf(packet: ByteArray): Found? {
        if (packet.size < ERF_HEADER) return null
        val type = u8(packet, ERF_TYPE_AT)
        if (type and ERF_MORE.inv() != ERF_INFINIBAND) return null
        var at = ERF_HEADER
        var hasMore = type and ERF_MORE != 0
        while (hasMore && at + ERF_EXTENSION <= packet.size) {
            hasMore = u8(packet, at) and ERF_MORE != 0
            at += ERF_EXTENSION
        }
        return local(packet, at)
    }

    private fun local(
        packet: ByteArray,
        at: Int,
    ): Found? {
        if (packet.size < at + LRH.byteSize) return null
        val header = LRH.at(packet, at)
        val next = at + LRH.byteSize
        val from = "LID ${header.slid.value}"
        val to = "LID ${header.dlid.value}"
        return when (header.lnh.value) {
            LOCAL -> transport(packet, next, from, to)
            GLOBAL -> transport(packet, next + GLOBAL_HEADER, from, to)
            else -> null
        }
    }

    private fun ethernet(packet: ByteArray): Found? {
        var at = ETHERNET_ADDRESSES
        var type = u16(packet, at)
        while (type in VLANS) {
            at += VLAN
            type = u16(packet, at)
        }
        at += Short.SIZE_BYTES
        return when (type) {
            ROCE -> {
                transport(
                    packet,
                    at + GLOBAL_HEADER,
                    ip6(packet, at + IP6_SOURCE_AT),
                    ip6(
                        packet,
                        at + IP6_TARGET_AT,
                    ),
                )
            }

            IP4 -> {
                val header = (u8(packet, at) and 0xf) * Int.SIZE_BYTES
                if (u8(packet, at + IP4_PROTOCOL_AT) != UDP) return null
                udp(packet, at + header, ip4(packet, at + IP4_SOURCE_AT), ip4(packet, at + IP4_TARGET_AT))
            }

            IP6 -> {
                if (u8(packet, at + IP6_NEXT_AT) != UDP) return null
                udp(packet, at + GLOBAL_HEADER, ip6(packet, at + IP6_SOURCE_AT), ip6(packet, at + IP6_TARGET_AT))
            }

            else -> {
                null
            }
        }
    }

    private fun udp(
        packet: ByteArray,
        at: Int,
        from: String,
        to: String,
    ): Found? = if (u16(packet, at + 2) == ROCE_PORT) transport(packet, at + UDP_HEADER, from, to) else null

    /** A datagram of a queue pair of management: 0, 1, or one with the key of general services. */
    private fun transport(
        packet: ByteArray,
        at: Int,
        from: String,
        to: String,
    ): Found? {
        val datagramAt = at + BTH.byteSize
        if (packet.size < datagramAt + DETH.byteSize) return null
        val base = BTH.at(packet, at)
        val datagram = DETH.at(packet, datagramAt)
        val data =
            when (u8(packet, at)) {
                UD_SEND -> datagramAt + DETH.byteSize
                UD_SEND_IMMEDIATE -> datagramAt + DETH.byteSize + IMMEDIATE
                else -> return null
            }
        if (base.destQP > 1 && datagram.qKey != GENERAL_SERVICES_KEY) return null
        if (packet.size < data + MAD_SIZE) return null
        return Found(
            packet.copyOfRange(data, data + MAD_SIZE),
            "$from QP ${datagram.srcQP} to $to QP ${base.destQP}",
        )
    }

    private fun u8(
        bytes: ByteArray,
        at: Int,
    ): Int = if (at < bytes.size) bytes[at].toInt() and 0xff else 0

    private fun u16(
        bytes: ByteArray,
        at: Int,
    ): Int = (u8(bytes, at) shl Byte.SIZE_BITS) or u8(bytes, at + 1)

    private fun ip4(
        bytes: ByteArray,
        at: Int,
    ): String = (0 until Int.SIZE_BYTES).joinToString(".") { "${u8(bytes, at + it)}" }

    private fun ip6(
        bytes: ByteArray,
        at: Int,
    ): String = (0 until 8).joinToString(":") { u16(bytes, at + 2 * it).toString(16) }

    private const val ERF_TYPE_AT = 8
    private const val ETHERNET_ADDRESSES = 12
    private const val VLAN = 4
    private val VLANS = setOf(0x8100, 0x88a8)
    private const val ROCE = 0x8915
    private const val IP4 = 0x0800
    private const val IP6 = 0x86dd
    private const val UDP = 17
    private const val UDP_HEADER = 8
    private const val ROCE_PORT = 4791
    private const val IP4_PROTOCOL_AT = 9
    private const val IP4_SOURCE_AT = 12
    private const val IP4_TARGET_AT = 16
    private const val IP6_NEXT_AT = 6
    private const val IP6_SOURCE_AT = 8
    private const val IP6_TARGET_AT = 24
}
