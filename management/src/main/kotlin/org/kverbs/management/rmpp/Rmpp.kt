package org.kverbs.management.rmpp

import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.RMPPFlag
import org.kverbs.management.structures.RMPPStatus
import org.kverbs.management.structures.RMPPType
import org.kverbs.management.transport.MAD_SIZE
import java.nio.ByteBuffer

private const val CLASS_AT = 1
private const val METHOD_AT = 3
private const val TRANSACTION_AT = 8
private const val VERSION_AT = 24
private const val TYPE_AT = 25
private const val FLAGS_AT = 26
private const val STATUS_AT = 27
private const val DATA1_AT = 28
private const val DATA2_AT = 32
private const val FLAG_BITS = 3
private const val UNSIGNED = 0xffffffffL
private const val BYTE = 0xff

/** The fields of an RMPP header, straight from the bytes, and which classes have one. */
internal object Rmpp {
    /** The version of the protocol. */
    const val VERSION = 1

    /** Where the header of the class begins: the payload length counts from here. */
    const val PAYLOAD_AT = 36

    /** The bytes of a segment behind the RMPP header. */
    const val PAYLOAD = MAD_SIZE - PAYLOAD_AT

    /** The bit of a method that makes it a response. */
    const val RESPONSE = 0x80

    private const val SA_DATA = 56
    private const val DEVICE_DATA = 64
    private const val VENDOR_DATA = 40
    private const val DEVICE_ADM = 0x10
    private const val BIS = 0x12
    private val vendors = ManagementClass.VENDOR_RANGE2_FIRST.value..ManagementClass.VENDOR_RANGE2_LAST.value

    /** Where the data of a class begin that has RMPP, or 0 for the other classes. */
    fun dataAt(mgmtClass: Int): Int =
        when (mgmtClass) {
            ManagementClass.SUBN_ADM.value -> SA_DATA
            ManagementClass.DEV_MGT.value, DEVICE_ADM, BIS -> DEVICE_DATA
            in vendors -> VENDOR_DATA
            else -> 0
        }

    /** Whether the bytes are a part of an RMPP transfer, or a whole message that needs one. */
    fun isActive(mad: ByteArray): Boolean {
        val dataAt = if (mad.size > FLAGS_AT) dataAt(mgmtClass(mad)) else 0
        return dataAt in 1..mad.size && mad[FLAGS_AT].toInt() and RMPPFlag.ACTIVE.value != 0
    }

    fun mgmtClass(mad: ByteArray): Int = mad[CLASS_AT].toInt() and BYTE

    fun method(mad: ByteArray): Int = mad[METHOD_AT].toInt() and BYTE

    fun transaction(mad: ByteArray): Long = ByteBuffer.wrap(mad).getLong(TRANSACTION_AT)

    fun version(mad: ByteArray): Int = mad[VERSION_AT].toInt() and BYTE

    fun type(mad: ByteArray): RMPPType = RMPPType.of(mad[TYPE_AT].toInt() and BYTE)

    fun flags(mad: ByteArray): RMPPFlag = RMPPFlag.of(mad[FLAGS_AT].toInt() and (1 shl FLAG_BITS) - 1)

    /** How long the sender of the packet takes to answer, as the exponent of 4.096 us; 31 if it does not say. */
    fun responseTime(mad: ByteArray): Int = mad[FLAGS_AT].toInt() and BYTE shr FLAG_BITS

    fun status(mad: ByteArray): RMPPStatus = RMPPStatus.of(mad[STATUS_AT].toInt() and BYTE)

    /** The segment of a data packet or of an acknowledgement, unsigned. */
    fun segment(mad: ByteArray): Long = ByteBuffer.wrap(mad).getInt(DATA1_AT).toLong() and UNSIGNED

    /** The payload length of a data packet, or the last segment of an acknowledgement's window; unsigned. */
    fun lengthOrWindow(mad: ByteArray): Long = ByteBuffer.wrap(mad).getInt(DATA2_AT).toLong() and UNSIGNED

    /** Writes the RMPP header. */
    fun write(
        mad: ByteArray,
        type: RMPPType,
        flags: RMPPFlag,
        status: RMPPStatus,
        data1: Long,
        data2: Long,
    ) {
        mad[VERSION_AT] = VERSION.toByte()
        mad[TYPE_AT] = type.value.toByte()
        mad[FLAGS_AT] = (NO_RESPONSE_TIME shl FLAG_BITS or flags.value).toByte()
        mad[STATUS_AT] = status.value.toByte()
        ByteBuffer.wrap(mad).putInt(DATA1_AT, data1.toInt()).putInt(DATA2_AT, data2.toInt())
    }

    /** A packet without data: the header of [like], and its method or the other direction's. */
    fun control(
        like: ByteArray,
        type: RMPPType,
        status: RMPPStatus = RMPPStatus.NORMAL,
        segment: Long = 0,
        window: Long = 0,
        isTurned: Boolean = true,
    ): ByteArray {
        val mad = like.copyOf(dataAt(mgmtClass(like))).copyOf(MAD_SIZE)
        if (isTurned) mad[METHOD_AT] = (method(mad) xor RESPONSE).toByte()
        write(mad, type, RMPPFlag.ACTIVE, status, segment, window)
        return mad
    }

    /** The response time of a packet that does not say one. */
    const val NO_RESPONSE_TIME = 31
}
