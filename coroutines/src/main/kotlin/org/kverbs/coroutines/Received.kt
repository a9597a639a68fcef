package org.kverbs.coroutines

import org.kverbs.MemorySlice
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionOpcode

/** What came with a received message. */
public class Received internal constructor(
    completion: WorkCompletion,
) {
    /**
     * Bytes of the message; for a datagram with the 40 of the global routing header before it. [isInBuffer] says where
     * they stand.
     */
    public val length: Long = completion.byteLength()

    /** The 32 bits that the sender gave, host order, or null if it gave none. */
    public val immediate: Int? = if (completion.hasImmediate()) completion.immediate() else null

    /** Of our queue pairs, the one that it came to: its number. */
    public val queuePairNumber: Int = completion.queuePairNumber()

    /** The sender's queue pair, for a datagram. */
    public val sourceQueuePair: Int = completion.sourceQueuePair()

    /** The key of ours that the sender's send with invalidate ended, or null. */
    public val invalidatedRkey: Int? = if (completion.hasInvalidatedRkey()) completion.invalidatedRkey() else null

    /**
     * All that the device said about it, from which an address handle to the sender of a datagram is made
     * ([org.kverbs.ProtectionDomain.addressHandle]). Null for what came over a connection.
     */
    public val completion: WorkCompletion? = if (completion.hasGrh()) completion.copy() else null

    /**
     * Whether the bytes stand in the receive's buffer. Those of a write with immediate lie in the memory that the peer
     * named.
     */
    public val isInBuffer: Boolean = completion.opcode() != WorkCompletionOpcode.RECV_RDMA_WITH_IMM

    /** Where its bytes stand until its receiver has them, and what keeps that memory: see [ReceiveSlot]. */
    internal var memory: MemorySlice? = null
        private set
    private var keeper: Any? = null

    /** Its place among the messages of its queue. */
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

    /** Forgets the memory. Returns what kept it. */
    internal fun leave(): Any? {
        memory = null
        return keeper.also { keeper = null }
    }

    /** Says the length in bytes, and the immediate value if there is one. */
    override fun toString(): String = "Received($length bytes" + (immediate?.let { ", immediate=$it" } ?: "") + ")"
}
