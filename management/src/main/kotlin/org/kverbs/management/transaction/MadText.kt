package org.kverbs.management.transaction

import org.kverbs.management.decode
import org.kverbs.management.describe
import org.kverbs.management.structures.MADStatusFlag
import org.kverbs.management.structures.MADStatusInvalidField
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.SAStatus
import java.lang.foreign.MemorySegment

private const val CLASS_BITS = 8
private const val INVALID_FIELD_BITS = 2
private const val INVALID_FIELD_MASK = 7

/** Words for datagrams and their statuses, in messages. */
internal object MadText {
    fun of(mad: ByteArray): String = describe(MemorySegment.ofArray(mad))

    fun classStatus(status: Int): Int = status shr CLASS_BITS

    /** The status that all classes share: two flags, and a number for what is wrong with the request. */
    fun common(status: Int): String =
        listOfNotNull(
            "BUSY(1)".takeIf { status and MADStatusFlag.BUSY.value != 0 },
            "REDIRECT(2)".takeIf { status and MADStatusFlag.REDIRECT.value != 0 },
            (status shr INVALID_FIELD_BITS and INVALID_FIELD_MASK)
                .takeIf { it != 0 }
                ?.let { MADStatusInvalidField.of(it).toString() },
        ).joinToString(" ")

    /** The layout of a datagram and its attribute, in lines. */
    fun decoded(mad: ByteArray): List<String> = decode(mad).lines()

    fun ofClass(
        request: ByteArray,
        status: Int,
    ): String =
        when (MadFields.mgmtClass(request)) {
            ManagementClass.SUBN_ADM.value -> SAStatus.of(classStatus(status)).toString()
            else -> "${classStatus(status)}"
        }
}
