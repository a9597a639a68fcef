package org.kverbs.coroutines

import org.kverbs.dsl.KiB
import org.kverbs.dsl.MiB
import org.kverbs.dsl.RdmaDsl

/** What a [MessageChannel] is made from. Mutable within its block; nothing of it is kept. */
@RdmaDsl
public class MessageChannelSettings internal constructor() {
    internal var receiveSlots = 16
    internal var slotSize = 4.KiB.toInt()
    internal var sendSlots = 32
    internal var oneSided = 32
    internal var largeMessages = 4
    internal var maxMessage = 64.MiB
    internal var pool: BufferPool? = null

    /** Messages that the peer can have sent here and that nobody has received yet, 1 to 4096; default 16. */
    public fun receiveSlots(count: Int) {
        require(count in 1..MAX_SLOTS) { "receiveSlots($count): give 1 to $MAX_SLOTS" }
        receiveSlots = count
    }

    /**
     * Bytes of a slot, a multiple of 8, 256 to 1 MiB; default 4096. A message of up to 8 bytes less is sent into a slot; the smaller slots
     * of the two sides count. Longer ones are read out of the sender's memory.
     */
    public fun slotSize(bytes: Int) {
        require(bytes in MIN_SLOT..MAX_SLOT && bytes % 8 == 0) { "slotSize($bytes): give a multiple of 8, $MIN_SLOT to $MAX_SLOT" }
        slotSize = bytes
    }

    /** Messages of this side that the devices can have under way; default 32. */
    public fun sendSlots(count: Int) {
        require(count in 1..MAX_SLOTS) { "sendSlots($count): give 1 to $MAX_SLOTS" }
        sendSlots = count
    }

    /** Reads, writes and atomics that can be under way, those for large messages too; default 32. */
    public fun oneSided(count: Int) {
        require(count in 1..MAX_SLOTS) { "oneSided($count): give 1 to $MAX_SLOTS" }
        oneSided = count
    }

    /** Large messages of this side that can wait to be read by the peer, 1 to 256; default 4. Each takes one receive slot more. */
    public fun largeMessages(count: Int) {
        require(count in 1..MAX_LARGE) { "largeMessages($count): give 1 to $MAX_LARGE" }
        largeMessages = count
    }

    /** Bytes of the longest message that is taken from the peer; default 64 MiB. A peer that says it has a longer one ends the channel. */
    public fun maxMessage(bytes: Long) {
        require(bytes >= 1) { "maxMessage($bytes): give 1 or more" }
        maxMessage = bytes
    }

    /**
     * Where memory for long messages and one-sided operations comes from, as far as it has a buffer of the size to spare; default is to
     * register memory each time. Only this side reaches it: what the peer is to read of this side is always copied to memory of its own.
     */
    public fun pool(pool: BufferPool) {
        this.pool = pool
    }

    private companion object {
        const val MAX_SLOTS = 4096
        const val MIN_SLOT = 256
        const val MAX_SLOT = 1 shl 20
        const val MAX_LARGE = 256
    }
}
