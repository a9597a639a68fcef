package org.kverbs.coroutines

import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED
import java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED
import java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED
import java.nio.ByteOrder.BIG_ENDIAN

/**
 * Defines the protocol of a [MessageChannel]. Every send request is one message: a header of 8 bytes in network byte
 * order, and a body.
 *
 * ```
 * 0  kind    1 byte
 * 1  zero    1 byte
 * 2  credits 2 bytes: the number of receive slots of this message's sender that are free again
 * 4  length  4 bytes: of the body
 *
 * DATA     a message of the program; the body is its bytes
 * LARGE    announces a message in the sender's memory: id 4, rkey 4, address 8, length 8; answered by DONE
 * PUBLISH  memory that the peer can use: address 8, length 8, rkey 4, and a name in UTF-8
 * WITHDRAW the name of memory that was published
 * LOOKUP   asks for an ANSWER
 * CREDIT   only credits
 * DONE     id 4: a large message was read; its sender gets the memory back
 * ANSWER   all earlier publications of the sender have been sent before this
 * END      the sender sends no more messages of the program
 * CLOSE    the sender has closed both directions, and has not seen the END of its peer, or has large messages to read
 * LEAVE    the sender has closed both directions, has seen the END of its peer, and reads no more large messages
 * ```
 *
 * **Why a message always finds a receive slot.** Each side posts N slots for the first five kinds, which cost the
 * sender a credit, and K = L + 5 slots for the other kinds, which do not; L is the number of its own large messages
 * that can wait (`largeMessages`). When a message arrives, it is copied out of its slot and the slot is posted again
 * *before* the message has any effect. The credit of a message goes back when the program receives it. Of the slots of
 * a side A, whose peer is B:
 * - messages that cost a credit never occupy more than N: B starts with N credits, and gets one back only after a slot
 *   is posted again;
 * - CREDIT occupies at most 2. B sends it for N/2 credits (rounded up) or more, and A cannot use these before it has
 *   posted the slot of the CREDIT again; there are N credits in all;
 * - DONE occupies at most L: each answers a LARGE of A, and A sends another in its place only when the slot of the DONE
 *   is posted again;
 * - ANSWER occupies at most 1: A asks again only when the slot of the ANSWER is posted again;
 * - END comes once, and so does CLOSE or LEAVE.
 *
 * **Why no side waits for ever.** If B has no credit, A holds N credits of messages that its program has not received
 * or whose credit it has not returned. When the program has received the last of them, A owes N credits. That is at
 * least N/2, so A sends a CREDIT, unless the credits have gone with another message before. Messages without a credit
 * have a share of the send queue of their own. If that is full, [ChannelDebts] keeps what is due as numbers until a
 * send has completed.
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
    const val LEAVE = 21

    /** Number of slots that a side needs for messages without a credit, besides those for DONE. */
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
     * Returns the length of the body.
     *
     * @param received bytes of the whole message
     * @throws ChannelProtocolException if the header's length is not that of the message
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
