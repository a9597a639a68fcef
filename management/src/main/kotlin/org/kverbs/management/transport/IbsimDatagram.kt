package org.kverbs.management.transport

import org.kverbs.management.path.DirectedPath
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.structures.Lid
import java.nio.ByteBuffer
import java.nio.ByteOrder

private const val SOURCE_LID = 4
private const val DESTINATION_QP = 8
private const val SOURCE_QP = 12
private const val STATUS = 16
private const val LENGTH = 24
private const val MAD = 32
private const val PERMISSIVE = 0xffff

/** The errno of a datagram that no port has got. */
private const val TIMED_OUT = 110

private const val MGMT_CLASS = 1
private const val BY_LID = 0x01
private const val BY_DIRECTED_ROUTE = 0x81

/**
 * The data side of ibsim's protocol. A LID is 32 bits in the machine's order that hold the 16 bits in network order;
 * queue pairs, status and length are big-endian.
 */
internal class IbsimDatagram(
    val mad: ByteArray,
    val source: Lid,
    val isUndelivered: Boolean,
) {
    companion object {
        const val SIZE = MAD + MAD_SIZE

        fun request(
            mad: ByteArray,
            path: MadPath,
        ): ByteBuffer {
            require(mad.size == MAD_SIZE) { "a management datagram has $MAD_SIZE bytes, not ${mad.size}" }
            val buffer = ByteBuffer.allocate(SIZE)
            val mgmtClass = mad[MGMT_CLASS].toInt() and 0xff
            val isSubnetManagement = mgmtClass == BY_LID || mgmtClass == BY_DIRECTED_ROUTE
            when (path) {
                is DirectedPath -> {
                    buffer.putLid(0, PERMISSIVE).putLid(SOURCE_LID, PERMISSIVE)
                }

                is LidPath -> {
                    buffer.putLid(0, path.destination.value).putLid(SOURCE_LID, path.source?.value ?: 0)
                    if (!isSubnetManagement) {
                        buffer.putInt(DESTINATION_QP, path.destinationQueuePair).putInt(SOURCE_QP, 1)
                    }
                }
            }
            return buffer.putLong(LENGTH, MAD_SIZE.toLong()).put(MAD, mad)
        }

        /** What the fabric brings a program: the simulator's side of the protocol. */
        fun arrival(
            mad: ByteArray,
            source: Lid?,
            isUndelivered: Boolean,
        ): ByteBuffer {
            val buffer = ByteBuffer.allocate(SIZE)
            buffer.putLid(SOURCE_LID, source?.value ?: PERMISSIVE)
            if (source != null) buffer.putInt(SOURCE_QP, 1)
            if (isUndelivered) buffer.putInt(STATUS, TIMED_OUT)
            return buffer.putLong(LENGTH, MAD_SIZE.toLong()).put(MAD, mad)
        }

        /** The LID to which a program sends. */
        fun destination(buffer: ByteBuffer): Lid = Lid(buffer.getLid(0))

        /** The length of what a program sends: a long message says its own, and gets no further than the datagram. */
        fun length(buffer: ByteBuffer): Int = buffer.getLong(LENGTH).coerceIn(0, MAD_SIZE.toLong()).toInt()

        fun parse(buffer: ByteBuffer): IbsimDatagram {
            val mad = ByteArray(MAD_SIZE)
            buffer.get(MAD, mad)
            return IbsimDatagram(mad, Lid(buffer.getLid(SOURCE_LID)), buffer.getInt(STATUS) != 0)
        }

        private fun ByteBuffer.putLid(
            at: Int,
            lid: Int,
        ): ByteBuffer = putShort(at + lidWithin, lid.toShort())

        private fun ByteBuffer.getLid(at: Int): Int = getShort(at + lidWithin).toInt() and 0xffff

        /** The low half of a number is its first in memory on a little-endian machine. */
        private val lidWithin = if (ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN) 0 else 2
    }
}
