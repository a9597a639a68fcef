package org.kverbs.coroutines

import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED
import java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED
import java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED
import java.nio.ByteOrder.BIG_ENDIAN

/**
 * The protocol of a [MessageChannel]. Every send request is one message: a header of 8 bytes in network order, and a
 * body.
 *
 * ```
 * 0  kind    1 byte
 * 1  zero    1 byte
 * 2  credits 2 bytes: so many receive slots of the sender of this message are free again
 * 4  length  4 bytes: of the body
 *
 * DATA     a message of the user; the body is its bytes
 * LARGE    a message that stands in the sender's memory: id 4, rkey 4, address 8, length 8. The receiver's device reads it, then says DONE
 * PUBLISH  memory that the peer may use: address 8, length 8, rkey 4, and a name in UTF-8
 * WITHDRAW a name that was published
 * LOOKUP   asks for an ANSWER
 * CREDIT   nothing but credits
 * DONE     id 4: a large message has been read, its memory is the sender's again
 * ANSWER   the sender has said before this what it had published when the LOOKUP came
 * END      the sender sends no more messages of the user
 * CLOSE    the sender has closed its end, in both directions
 * ```
 *
 * **Why a message always finds a receive slot.** Each side posts N slots for the first five kinds, which cost the
 * sender a credit, and K = L + 5 for the others, which don't; L is the number of its own large messages that may wait
 * (`largeMessages`). A slot is posted again *before* its credit, or what stood in it, has any effect: a message is
 * copied out of its slot when it comes. The credit of a message goes back when the program receives it. So of all slots
 * of a side, let us call it A:
 * - messages that cost a credit never occupy more than N: the peer B starts with N credits, and gets one back when a
 *   slot is posted again;
 * - CREDIT occupies at most 2. B sends it for N/2 credits (rounded up) or more, credits that A can't use before it has
 *   posted the message's slot again; there are N in all;
 * - DONE occupies at most L: each answers a LARGE of A, and A sends another in its place only when the slot of the DONE
 *   is posted again;
 * - ANSWER occupies at most 1: A asks again only when the slot of the ANSWER is posted again;
 * - END and CLOSE come once each.
 *
 * **Why nobody waits for ever.** If B has no credit, A has N messages that it hasn't received or not given back. When
 * it has received the last of them, it owes N, which is no less than N/2, so a CREDIT goes out, if the credits haven't
 * gone with another message before. Messages without credit need room in the send queue: they have a share of their
 * own, and what is due waits as numbers, not as messages, until a send has completed.
 */
internal object ChannelMessage {
    const val HEADER = 8
    const val LARGE_BODY = 24
    const val DATA = 1
    const val LARGE = 2
    const val PUBLISH = 3
    const val WITHDRAW = 4
    const val LOOKUP = 5
    const val CREDIT = 16
    const val DONE = 17
    const val END = 18
    const val CLOSE = 19
    const val ANSWER = 20

    /** How many slots a side needs for messages without credit, beside those for DONE. */
    const val CONTROL_SLOTS = 5

    private val SHORT = JAVA_SHORT_UNALIGNED.withOrder(BIG_ENDIAN)
    private val INT = JAVA_INT_UNALIGNED.withOrder(BIG_ENDIAN)
    private val LONG = JAVA_LONG_UNALIGNED.withOrder(BIG_ENDIAN)

    fun putHeader(
        at: MemorySegment,
        kind: Int,
        credits: Int,
        length: Int,
    ) {
        at.set(JAVA_BYTE, 0, kind.toByte())
        at.set(JAVA_BYTE, 1, 0)
        at.set(SHORT, 2, credits.toShort())
        at.set(INT, 4, length)
    }

    fun kind(at: MemorySegment): Int = at.get(JAVA_BYTE, 0).toInt()

    fun credits(at: MemorySegment): Int = at.get(SHORT, 2).toInt() and 0xffff

    /**
     * The length of the body.
     *
     * @param received bytes of the whole message
     * @throws ChannelProtocolException if the header tells another length than came
     */
    fun length(
        at: MemorySegment,
        received: Long,
    ): Int {
        if (received < HEADER) {
            throw ChannelProtocolException("the peer sent $received bytes, less than a header of $HEADER")
        }
        val length = at.get(INT, 4)
        if (length != (received - HEADER).toInt()) {
            throw ChannelProtocolException(
                "the peer sent a header for ${Integer.toUnsignedLong(length)} bytes and ${received - HEADER} bytes",
            )
        }
        return length
    }

    fun putInt(
        at: MemorySegment,
        offset: Long,
        value: Int,
    ) = at.set(INT, HEADER + offset, value)

    fun putLong(
        at: MemorySegment,
        offset: Long,
        value: Long,
    ) = at.set(LONG, HEADER + offset, value)
}
