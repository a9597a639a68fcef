package org.kverbs.coroutines

import kotlinx.coroutines.CompletableDeferred
import org.kverbs.MemorySlice

/** One receive request of [ReceiveSlots]. Guarded by the lock of those. */
internal class ReceiveSlot(
    val index: Int,
) {
    /** The memory of the request; null if it isn't posted. */
    var memory: MemorySlice? = null

    /**
     * What keeps that memory: a [Chunk] of the stage, a [RegisteredBuffer] that is pinned, or null for other memory of
     * the user's.
     */
    var keeper: Any? = null

    /** The receive whose own memory it is, and who alone gets what comes there; null if the oldest receiver gets it. */
    var owner: CompletableDeferred<Received>? = null
}
