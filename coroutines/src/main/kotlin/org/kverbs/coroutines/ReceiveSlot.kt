package org.kverbs.coroutines

import org.kverbs.MemorySlice

/** One receive request of [ReceiveSlots]: its memory, and who waits for it. Guarded by the lock of those. */
internal class ReceiveSlot(
    val index: Int,
) {
    /** The memory of the request; null if it isn't posted. */
    var memory: MemorySlice? = null
    var pin: RegisteredBuffer? = null

    /** Who waits; null if nobody does any more. */
    var waiter: Any? = null

    /** Where the waiter wants the message, if it took over the request of another; else null. */
    var target: MemorySlice? = null
    var targetPin: RegisteredBuffer? = null

    /** Forgets all; what was pinned stays so. */
    fun clear() {
        memory = null
        pin = null
        waiter = null
        target = null
        targetPin = null
    }
}
