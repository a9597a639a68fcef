package org.kverbs.coroutines

import org.kverbs.MemorySlice

/** One receive request of [ReceiveSlots], whose lock guards it. */
internal class ReceiveSlot(
    val index: Int,
) {
    /** The memory of the request; null if it is not posted. */
    var memory: MemorySlice? = null

    /**
     * The owner of that memory: a [Chunk] of the stage, a pinned [RegisteredBuffer], or null for other memory of the
     * program.
     */
    var keeper: Any? = null

    /**
     * The receive that owns the memory and alone gets its message; null if the message goes to the receiver that has
     * waited longest.
     */
    var owner: PostedReceive? = null
}
