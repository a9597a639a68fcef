package org.kverbs.ibtool.decode

import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.printable
import java.io.InputStream
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.time.Instant

private const val HEADER = 24
private const val RECORD = 16
private const val LONGEST = 262_144
private const val MAGIC = 0xa1b2c3d4.toInt()
private const val MAGIC_OF_NANOSECONDS = 0xa1b23c4d.toInt()
private const val NEXT_GENERATION = 0x0a0d0d0a

/**
 * Reads the management datagrams of a pcap file, one packet after the other: what `--pcap` writes, InfiniBand packets
 * of other programs, and RoCE in Ethernet. Other packets are passed over.
 */
internal class PcapReader(
    private val name: String,
    private val input: InputStream,
) {
    /** How many packets carry no management datagram. */
    var others = 0L
        private set
    private var position = 0L

    fun datagrams(): Sequence<Datagram> =
        sequence {
            val header = bytes(HEADER) ?: fail("ends within the header of the file")
            val first = ByteBuffer.wrap(header).getInt(0)
            if (first ==
                NEXT_GENERATION
            ) {
                fail("is a pcapng file; make a pcap file of it: tshark -F pcap -r FILE -w NEW")
            }
            val isBig = first == MAGIC || first == MAGIC_OF_NANOSECONDS
            val order = if (isBig) ByteOrder.BIG_ENDIAN else ByteOrder.LITTLE_ENDIAN
            val fields = ByteBuffer.wrap(header).order(order)
            val isNanoseconds = fields.getInt(0) == MAGIC_OF_NANOSECONDS
            val link = fields.getInt(LINK_AT) and 0xffff
            if (link !in Packets.linkTypes) {
                fail("has packets of the link type $link; known are Ethernet (1), ERF (197) and InfiniBand (247)")
            }
            var number = 0L
            while (true) {
                val begin = position
                val record = ByteBuffer.wrap(bytes(RECORD) ?: break).order(order)
                val length = record.getInt(2 * Int.SIZE_BYTES)
                number++
                if (length !in 0..LONGEST) fail("has a packet of $length bytes at $begin; is it damaged?")
                val packet = bytes(length) ?: fail("ends within the packet at $begin")
                val found = Packets.datagram(packet, link)
                if (found == null) {
                    others++
                } else {
                    val time = time(record, isNanoseconds)
                    yield(Datagram(found.mad, "packet $number $time ${found.addresses}".trimEnd()))
                }
            }
        }

    private fun time(
        record: ByteBuffer,
        isNanoseconds: Boolean,
    ): Instant {
        val seconds = record.getInt(0).toLong() and 0xffffffffL
        val fraction = record.getInt(Int.SIZE_BYTES).toLong() and 0xffffffffL
        return Instant.ofEpochSecond(seconds, if (isNanoseconds) fraction else fraction * 1_000)
    }

    /** The next bytes; null at the end of the file. */
    private fun bytes(count: Int): ByteArray? {
        val bytes = input.readNBytes(count)
        if (bytes.size < count && (bytes.isNotEmpty() || count == HEADER)) fail("ends within a packet at $position")
        position += bytes.size
        return bytes.takeIf { it.size == count }
    }

    private fun fail(what: String): Nothing = throw DiagnosticException("${printable(name)} $what")

    companion object {
        private const val LINK_AT = 20

        /** Whether a file that begins with these bytes is one of packets. */
        fun takes(first: ByteArray): Boolean {
            if (first.size < Int.SIZE_BYTES) return false
            val number = ByteBuffer.wrap(first).getInt(0)
            val known = setOf(MAGIC, MAGIC_OF_NANOSECONDS, NEXT_GENERATION)
            return number in known || Integer.reverseBytes(number) in known
        }
    }
}
