package org.kverbs.management.agent

import org.kverbs.management.MadLayout
import org.kverbs.management.path.MadPath
import org.kverbs.management.rmpp.Rmpp
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.structures.MADStatusInvalidField
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.RMPPFlag
import org.kverbs.management.structures.SAFormat
import org.kverbs.management.structures.SAStatus
import org.kverbs.management.transaction.MadText
import org.kverbs.management.transport.MAD_SIZE
import org.kverbs.structures.ComponentMask
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureType
import java.util.concurrent.atomic.AtomicBoolean

private const val RMPP_AT = 24
private const val STATUS_AT = 4
private const val CLASS_STATUS = 8
private const val INVALID_FIELD = 2
private const val WORD = 8

/**
 * A request that another port sent to a class that this program serves. It is answered once: by [answer],
 * [answerRecords], [answerLong] or [refuse].
 *
 * @property mad the request; a long one is whole
 * @property from the path to the port that asks
 */
public class ReceivedRequest internal constructor(
    public val mad: ByteArray,
    public val from: MadPath,
    private val send: (ByteArray) -> Unit,
) {
    private val isAnswered = AtomicBoolean()
    private val header = MADHeader.at(mad)

    /** The management class. */
    public val mgmtClass: ManagementClass get() = header.mgmtClass

    /** The method. */
    public val method: Method get() = header.method

    /** The number of the attribute. */
    public val attributeId: Int get() = header.attributeID

    /** The attribute modifier. */
    public val modifier: Long get() = header.attributeModifier

    /** Which parts of the record count, in a request of subnet administration; else none. */
    public val componentMask: ComponentMask
        get() =
            ComponentMask(
                if (mgmtClass == ManagementClass.SUBN_ADM) SAFormat.at(mad.copyOf(MAD_SIZE)).componentMask else 0,
            )

    /** Where the attribute begins. */
    private val dataAt: Int get() = MadLayout.dataAt(mgmtClass.value, attributeId) ?: MADHeader.byteSize

    /** Returns the attribute of the request; what is missing at its end is zero. */
    public fun <S : Structure> value(type: StructureType<S>): S {
        val from = minOf(dataAt, mad.size)
        return type.of(mad.copyOfRange(from, minOf(mad.size, from + type.byteSize)).copyOf(type.byteSize))
    }

    /**
     * Answers with an attribute.
     *
     * @throws IllegalArgumentException if it does not fit into a datagram
     * @throws IllegalStateException if the request was answered before
     */
    public fun answer(value: Structure) {
        val data = value.bytes()
        require(data.size <= MAD_SIZE - dataAt) { "${data.size} bytes do not fit into a datagram: use answerLong" }
        val answer = head(MAD_SIZE)
        data.copyInto(answer, dataAt)
        once(answer)
    }

    /**
     * Answers with records as subnet administration does: to Get, Set and Delete with one record in a datagram, or with an
     * error if there are none or several; to the other methods with any number of records in a long message.
     *
     * @throws IllegalStateException if the request is of another class
     */
    public fun answerRecords(records: List<Structure>) {
        check(mgmtClass == ManagementClass.SUBN_ADM) {
            "records are of subnet administration, and $this is not: use answer or answerLong"
        }
        when {
            method !in setOf(Method.GET, Method.SET, Method.DELETE) -> {
                val distance = (records.maxOfOrNull { it.structureType.byteSize } ?: 0).let { (it + WORD - 1) / WORD }
                val data = ByteArray(records.size * distance * WORD)
                records.forEachIndexed { index, record -> record.bytes().copyInto(data, index * distance * WORD) }
                answerLong(data, distance)
            }

            records.isEmpty() -> {
                refuse(SAStatus.NO_RECORDS)
            }

            records.size > 1 -> {
                refuse(SAStatus.TOO_MANY_RECORDS)
            }

            else -> {
                answer(records.single())
            }
        }
    }

    /**
     * Answers with any number of bytes, as a long message.
     *
     * @param distance how far records are apart, in units of eight bytes; only for subnet administration
     * @throws IllegalArgumentException if the class has no long messages
     */
    public fun answerLong(
        data: ByteArray,
        distance: Int = 0,
    ) {
        val at = Rmpp.dataAt(mgmtClass.value)
        require(at > 0) { "the class $mgmtClass has no long messages" }
        val answer = head(MAD_SIZE)
        if (mgmtClass == ManagementClass.SUBN_ADM) SAFormat.at(answer).attributeOffset = distance
        answer[RMPP_AT] = Rmpp.VERSION.toByte()
        answer[RMPP_AT + 2] = RMPPFlag.ACTIVE.value.toByte()
        once(data.copyInto(answer.copyOf(at + data.size), at))
    }

    /** Refuses with a status that all classes share. */
    public fun refuse(status: MADStatusInvalidField): Unit = refuse(status.value shl INVALID_FIELD)

    /** Refuses with a status of subnet administration. */
    public fun refuse(status: SAStatus): Unit = refuse(status.value shl CLASS_STATUS)

    /** Refuses with the 16 bits of a status; the other data are those of the request. */
    public fun refuse(status: Int) {
        require(status in 1..0x7fff) { "the status $status refuses nothing; give 1 to 0x7fff" }
        val answer = head(MAD_SIZE)
        mad.copyInto(answer, dataAt, minOf(dataAt, mad.size), minOf(MAD_SIZE, mad.size))
        answer[STATUS_AT] = (status shr Byte.SIZE_BITS).toByte()
        answer[STATUS_AT + 1] = status.toByte()
        once(answer)
    }

    /** Whether it has an answer. */
    internal val hasAnswer: Boolean get() = isAnswered.get()

    /** The header of the answer: that of the request with the method of the answer, and no status. */
    private fun head(size: Int): ByteArray {
        val answer = mad.copyOf(minOf(dataAt, mad.size)).copyOf(size)
        answer[STATUS_AT] = 0
        answer[STATUS_AT + 1] = 0
        if (Rmpp.dataAt(mgmtClass.value) > 0) answer.fill(0, RMPP_AT, Rmpp.PAYLOAD_AT)
        MADHeader.at(answer).method = Method.of(responseTo(method))
        return answer
    }

    private fun responseTo(method: Method): Int =
        Rmpp.RESPONSE or
            when (method) {
                Method.SET -> Method.GET.value
                Method.GET_TRACE_TABLE -> Method.GET_TABLE.value
                else -> method.value
            }

    private fun once(answer: ByteArray) {
        check(isAnswered.compareAndSet(false, true)) { "$this was answered before" }
        send(answer)
    }

    /** Returns what is asked, and by whom. */
    override fun toString(): String = "${MadText.of(mad)} from $from"
}
