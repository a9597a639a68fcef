package org.kverbs.coroutines

import org.kverbs.MemorySlice
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionOpcode

/** Describes a received message. */
public class Received internal constructor(
    completion: WorkCompletion,
) {
    /**
     * Length of the message in bytes; for a datagram it includes the 40 bytes of the global routing header.
     * [isInBuffer] tells whether the bytes are in the receive's buffer.
     */
    public val length: Long = completion.byteLength()

    /** The sender's 32 bits of immediate data in host byte order, or null without immediate data. */
    public val immediate: Int? = if (completion.hasImmediate()) completion.immediate() else null

    /** The number of this side's queue pair that received the message. */
    public val queuePairNumber: Int = completion.queuePairNumber()

    /** For a datagram, the number of the sender's queue pair. */
    public val sourceQueuePair: Int = completion.sourceQueuePair()

    /** The rkey of this side that a send with invalidate invalidated, or null. */
    public val invalidatedRkey: Int? = if (completion.hasInvalidatedRkey()) completion.invalidatedRkey() else null

    /**
     * For a datagram, the completion, from which [org.kverbs.ProtectionDomain.addressHandle] creates an address handle
     * to the sender. Null for a message over a connection.
     */
    public val completion: WorkCompletion? = if (completion.hasGrh()) completion.copy() else null

    /**
     * True if the bytes are in the receive's buffer. The bytes of a write with immediate are in the memory that the
     * peer wrote to.
     */
    public val isInBuffer: Boolean = completion.opcode() != WorkCompletionOpcode.RECV_RDMA_WITH_IMM

    /** The memory with the message's bytes until the receiver has them; [keeper] is its owner, see [ReceiveSlot]. */
    internal var memory: MemorySlice? = null
        private set
    private var keeper: Any? = null

    /** The position of the message among those of its queue. */
    internal var number: Long = 0
        private set

    internal fun arrive(
        memory: MemorySlice,
        keeper: Any?,
        number: Long,
    ) {
        this.memory = memory
        this.keeper = keeper
        this.number = number
    }

    /** Drops the memory. Returns its owner. */
    internal fun leave(): Any? {
        memory = null
        return keeper.also { keeper = null }
    }

    /** Shows the length in bytes, and the immediate data if there is any. */
    override fun toString(): String = "Received($length bytes" + (immediate?.let { ", immediate=$it" } ?: "") + ")"
}
