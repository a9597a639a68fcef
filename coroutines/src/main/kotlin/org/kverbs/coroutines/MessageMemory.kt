package org.kverbs.coroutines

import org.kverbs.MemorySlice

/** Copies messages that have arrived into their receivers' memory, and releases the memory that they arrived in. */
internal class MessageMemory(
    private val stage: ReceiveStage,
) {
    /**
     * Copies a message into its receiver's memory. The receiver calls this; if the copy fails, the message is lost.
     */
    fun take(
        message: Received,
        into: MemorySlice,
    ): Received {
        try {
            bring(message, into)
        } finally {
            settle(message)
        }
        return message
    }

    /** Copies a message that came in a buffer. Throws if it does not fit, or if its memory was closed. */
    fun bring(
        message: Received,
        into: MemorySlice,
    ) {
        if (!message.isInBuffer) return
        require(message.length <= into.length()) {
            "a message of ${message.length} bytes came to an earlier, cancelled receive, and doesn't fit into the " +
                "${into.length()} bytes" +
                " of this one; give all receives of a queue buffers of one size"
        }
        val from = checkNotNull(message.memory)
        try {
            into.memory().copyFrom(from.memory().asSlice(0, message.length))
        } catch (e: IllegalStateException) {
            // Another thread has closed the memory, perhaps with its device.
            throw IllegalStateException("the memory of a receive was closed when its message came", e)
        }
    }

    /** Releases the memory of a message that its receiver has got. */
    fun settle(message: Received): Unit = letGo(message.leave())

    /** Releases memory that nobody needs any more: a chunk of the stage, or a pinned buffer. */
    fun letGo(keeper: Any?) {
        when (keeper) {
            is Chunk -> stage.giveBack(keeper)
            is RegisteredBuffer -> keeper.unpin()
        }
    }
}
