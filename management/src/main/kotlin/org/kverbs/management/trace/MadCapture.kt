package org.kverbs.management.trace

import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.BTH
import org.kverbs.management.structures.DETH
import org.kverbs.management.structures.LNH
import org.kverbs.management.structures.LRH
import org.kverbs.management.transport.MAD_SIZE
import org.kverbs.structures.Lid
import java.io.FileOutputStream
import java.io.IOException
import java.nio.ByteBuffer
import java.nio.file.Path
import java.time.Instant

/**
 * Writes datagrams to a pcap file, in records as Endace's cards write them (link type ERF), which Wireshark and tshark
 * decode as InfiniBand. Around each datagram it writes the headers that a packet of the fabric has (IBA volume 1, 7.7,
 * 9.2 and 9.3). The checksums are zero, since no transport shows them.
 *
 * Threads: any thread can call. Each record is in the file when [record] returns.
 *
 * @param file replaced if it is there
 */
internal class MadCapture(
    private val file: Path,
) : AutoCloseable {
    // No channel: a thread that is interrupted closes a channel by using it.
    private val output = FileOutputStream(file.toFile())
    private var isClosed = false
    private var failure: IOException? = null
    private val buffer = ByteBuffer.allocate(RECORD_BYTES)

    init {
        buffer.putInt(MAGIC).putShort(2).putShort(4).putLong(0).putInt(RECORD_BYTES).putInt(LINK_TYPE_ERF)
        try {
            write()
        } catch (e: IOException) {
            output.close()
            throw e
        }
    }

    /**
     * Writes a datagram; of a long message its first 256 bytes. A failure to write is kept for [check], and nothing is
     * written after it.
     *
     * @param path where the datagram goes, or the way back to its sender; null if it came by a directed route
     * @param own the LID of this port, or zero
     */
    fun record(
        mad: ByteArray,
        path: MadPath?,
        isSent: Boolean,
        own: Int,
    ): Unit =
        synchronized(buffer) {
            if (isClosed || failure != null) return
            val time = Instant.now()
            buffer.putInt(time.epochSecond.toInt()).putInt(time.nano / 1000).putInt(ERF_BYTES).putInt(ERF_BYTES)
            // ERF's own time: seconds and fraction, with the low byte first.
            val fraction = (time.nano.toLong() shl 32) / 1_000_000_000
            buffer.putLong(java.lang.Long.reverseBytes((time.epochSecond shl 32) or fraction))
            buffer
                .put(
                    TYPE_INFINIBAND,
                ).put(0)
                .putShort(ERF_BYTES.toShort())
                .putShort(0)
                .putShort(PACKET_BYTES.toShort())
            buffer.put(headers(mad, path, isSent, own)).put(mad.copyOf(MAD_SIZE)).put(ByteArray(CHECKSUM_BYTES))
            try {
                write()
            } catch (e: IOException) {
                failure = e
            }
        }

    /**
     * Tells of a datagram that is not in the file.
     *
     * @throws IOException if one could not be written
     */
    fun check(): Unit =
        synchronized(buffer) {
            failure?.let { throw IOException("datagrams cannot be written to $file any more: ${it.message}", it) }
        }

    private fun headers(
        mad: ByteArray,
        path: MadPath?,
        isSent: Boolean,
        own: Int,
    ): ByteArray {
        val isSubnetManagement = mad.size > 1 && mad[1].toInt() and 0x7f == SUBNET_MANAGEMENT
        val routed = path as? LidPath
        val far = routed?.destination?.value ?: PERMISSIVE
        val near = if (routed == null) PERMISSIVE else routed.source?.value ?: own
        val farQueue = if (isSubnetManagement) 0 else routed?.destinationQueuePair ?: 1
        val nearQueue = if (isSubnetManagement) 0 else 1
        val local =
            LRH {
                vl = if (isSubnetManagement) 15 else 0
                lnh = LNH.IBA_LOCAL
                sl = routed?.serviceLevel ?: 0
                dlid = Lid(if (isSent) far else near)
                slid = Lid(if (isSent) near else far)
                pktLen = (PACKET_BYTES - VARIANT_CHECKSUM_BYTES) / 4
            }
        val base =
            BTH {
                opCode = SEND_ONLY_UNRELIABLE_DATAGRAM
                pKey = routed?.partitionKey ?: LidPath.DEFAULT_PARTITION
                destQP = if (isSent) farQueue else nearQueue
            }
        val datagram =
            DETH {
                qKey = if (isSubnetManagement) 0L else GENERAL_SERVICES_KEY
                srcQP = if (isSent) nearQueue else farQueue
            }
        return local.bytes() + base.bytes() + datagram.bytes()
    }

    private fun write() {
        output.write(buffer.array(), 0, buffer.position())
        buffer.clear()
    }

    /** Closes the file. Datagrams that come later are not written. Then it does as [check]. */
    override fun close(): Unit =
        synchronized(buffer) {
            isClosed = true
            output.close()
            check()
        }

    private companion object {
        const val MAGIC = 0xa1b2c3d4.toInt()
        const val LINK_TYPE_ERF = 197
        const val TYPE_INFINIBAND: Byte = 21
        const val VARIANT_CHECKSUM_BYTES = 2
        const val CHECKSUM_BYTES = 4 + VARIANT_CHECKSUM_BYTES
        const val PACKET_BYTES = 8 + 12 + 8 + MAD_SIZE + CHECKSUM_BYTES
        const val ERF_BYTES = 16 + PACKET_BYTES
        const val RECORD_BYTES = 16 + ERF_BYTES
        const val SUBNET_MANAGEMENT = 1
        const val PERMISSIVE = 0xffff
        const val SEND_ONLY_UNRELIABLE_DATAGRAM = 0x64
        const val GENERAL_SERVICES_KEY = 0x80010000L
    }
}
