package org.kverbs.management.transaction

import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.transport.ServedClass
import java.nio.ByteBuffer

private const val CLASS_AT = 1
private const val METHOD_AT = 3
private const val STATUS_AT = 4
private const val TRANSACTION_AT = 12
private const val ATTRIBUTE_AT = 16
private const val OUI_AT = 36
private const val OUI_BITS = 0xffffff
private const val RESPONSE = 0x80
private const val GET = 0x01
private const val SET = 0x02
private const val TRAP = 0x05
private const val TRAP_REPRESS = 0x07
private const val GET_TABLE = 0x12
private const val GET_TRACE_TABLE = 0x13

/** The fields of a datagram that the matching of answers reads, straight from the bytes. */
internal object MadFields {
    fun mgmtClass(mad: ByteArray): Int = mad[CLASS_AT].toInt() and 0xff

    fun method(mad: ByteArray): Int = mad[METHOD_AT].toInt() and 0xff

    fun attribute(mad: ByteArray): Int = ByteBuffer.wrap(mad).getShort(ATTRIBUTE_AT).toInt() and 0xffff

    /** The vendor's OUI of a class that has one; else 0. */
    fun vendor(mad: ByteArray): Int =
        if (mgmtClass(mad) in ServedClass.ofVendors) ByteBuffer.wrap(mad).getInt(OUI_AT) and OUI_BITS else 0

    /** The low half of the transaction id: a transport owns the other one. */
    fun transaction(mad: ByteArray): Int = ByteBuffer.wrap(mad).getInt(TRANSACTION_AT)

    fun setTransaction(
        mad: ByteArray,
        id: Int,
    ) {
        ByteBuffer.wrap(mad).putInt(TRANSACTION_AT, id)
    }

    /** The status; the highest bit is the direction of a directed route, and no status in any class. */
    fun status(mad: ByteArray): Int {
        val bits = ByteBuffer.wrap(mad).getShort(STATUS_AT).toInt() and 0xffff
        return if (mgmtClass(mad) == ManagementClass.SUBN_DIRECTED_ROUTE.value) bits and 0x7fff else bits
    }

    /** Whether the datagram answers one, rather than asks. A trap is answered by a method without the response bit. */
    fun isResponse(mad: ByteArray): Boolean = method(mad) and RESPONSE != 0 || method(mad) == TRAP_REPRESS

    /** Whether the method [answer] belongs to an answer to [request]. Get and Set share one. */
    fun isAnswered(
        request: ByteArray,
        answer: Int,
    ): Boolean =
        when (val method = method(request)) {
            GET, SET -> answer == RESPONSE or GET

            TRAP -> answer == TRAP_REPRESS

            // The specification has the response of GetTable; libibmad knows one of its own.
            GET_TRACE_TABLE -> answer == RESPONSE or GET_TABLE || answer == RESPONSE or method

            else -> answer == RESPONSE or method
        }
}
