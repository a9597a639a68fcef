package org.kverbs.management.sa

import org.kverbs.management.rmpp.Rmpp
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.RMPPFlag
import org.kverbs.management.structures.RMPPType
import org.kverbs.management.structures.SAFormat
import org.kverbs.management.transport.MAD_SIZE
import org.kverbs.structures.ComponentMask
import org.kverbs.structures.RequestMethod
import org.kverbs.structures.StructureType

private const val VERSION = 2
private const val ADMINISTRATION = 0x03
private const val WORD = 8

/** Makes the requests of subnet administration, and reads its answers. */
internal object SaMessages {
    /** A request with [data]; a long one if they need it. */
    fun request(
        method: RequestMethod,
        attribute: Int,
        mask: ComponentMask,
        key: Long,
        data: ByteArray,
        isLong: Boolean = false,
    ): ByteArray {
        val mad = ByteArray(MAD_SIZE)
        SAFormat.at(mad).apply {
            madHeader.apply {
                baseVersion = 1
                mgmtClass = ManagementClass.SUBN_ADM
                classVersion = VERSION
                this.method = Method.of(method.code)
                attributeID = attribute
            }
            smKey = key
            componentMask = mask.value
            attributeOffset = (data.size + WORD - 1) / WORD
            if (isLong) {
                rmppHeader.apply {
                    rmppVersion = 1
                    rmppType = RMPPType.DATA
                    rmppFlags = RMPPFlag.ACTIVE
                }
            }
        }
        val message = if (isLong) mad.copyOf(DATA_AT + data.size) else mad
        return data.copyInto(message, DATA_AT)
    }

    /** The attribute's number in subnet administration. */
    fun attributeId(type: StructureType<*>): Int {
        val all = type.attributes.filter { ADMINISTRATION in it.classes }
        require(all.isNotEmpty()) { "${type.name} is no attribute of subnet administration" }
        return all.first().id
    }

    /** The data of an answer that are one record, or null if they are too short. */
    fun record(
        reply: ByteArray,
        type: StructureType<*>,
    ): ByteArray? {
        val size = minOf(type.byteSize, MAD_SIZE - DATA_AT)
        return if (reply.size < DATA_AT + size) null else reply.copyOfRange(DATA_AT, DATA_AT + type.byteSize)
    }

    /**
     * The data of an answer that are any number of records, each in bytes of its own. They are as far apart as the
     * answer says; a record can be shorter than the type by what is reserved at its end.
     *
     * @throws IllegalArgumentException if the distance can't be
     */
    fun records(
        reply: ByteArray,
        type: StructureType<*>,
    ): Sequence<ByteArray> {
        val length = reply.size - DATA_AT
        if (length <= 0) return emptySequence()
        val distance = distance(reply)
        if (distance == 0 && MADHeader.at(reply).status == 0 && (DATA_AT until reply.size).all { reply[it] == ZERO }) {
            return emptySequence()
        }
        require(
            distance in least(type)..length,
        ) { "records of ${type.name} are $distance bytes apart in $length bytes" }
        // One datagram does not say where its records end: what is behind them is zero.
        val isOne = reply.size == MAD_SIZE && (!Rmpp.isActive(reply) || Rmpp.segment(reply) == 0L)
        val isLong = Rmpp.isActive(reply) && !isOne
        val used = if (isLong) length else reply.indexOfLast { it != ZERO } + 1 - DATA_AT
        if (isOne && Rmpp.isActive(reply)) requireWhole(used, distance)
        require(!isLong || length % distance == 0) {
            "records of ${type.name} are $distance bytes apart, which do not divide its $length bytes"
        }
        val count = if (isLong) length / distance else (used + distance - 1) / distance
        return (0 until minOf(count, length / distance)).asSequence().map { index ->
            val from = DATA_AT + index * distance
            reply.copyOfRange(from, from + minOf(distance, type.byteSize)).copyOf(type.byteSize)
        }
    }

    /** A long message that no kernel has cut, as under ibsim, arrives without what is behind its first part. */
    private fun requireWhole(
        used: Int,
        distance: Int,
    ) {
        val room = MAD_SIZE - DATA_AT
        val isFull = used > room / distance * distance || (room % distance == 0 && used > room - distance)
        require(!isFull) { "it is the first part of a long message, and the rest did not arrive" }
    }

    private fun distance(reply: ByteArray): Int = SAFormat.at(reply.copyOf(MAD_SIZE)).attributeOffset * WORD

    private fun least(type: StructureType<*>): Int {
        val last = type.fields.last { !it.isReserved && it.name != "padding" }
        return (last.offset + last.bits + Byte.SIZE_BITS - 1) / Byte.SIZE_BITS
    }

    /** Where the data of a message begin. */
    const val DATA_AT = 56
    private const val ZERO: Byte = 0
}
