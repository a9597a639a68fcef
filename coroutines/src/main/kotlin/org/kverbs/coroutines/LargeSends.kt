package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import kotlin.coroutines.resume

/**
 * Holds the large messages of this side that the peer has yet to read. Their buffers are pinned until the peer has read
 * them or the channel has ended.
 */
internal class LargeSends(
    private val count: Int,
) {
    private class Waiting(
        val buffer: RegisteredBuffer,
        val sender: CancellableContinuation<Unit>?,
    )

    /** The number of further large messages that can be under way. */
    val room = Credits(count)
    private val lock = Any()
    private val waiting = HashMap<Int, Waiting>()
    private var next = 0
    private var failure: Throwable? = null

    /**
     * Pins the buffer until [done] or [end], which resume the sender if there is one. The caller holds a credit of
     * [room].
     *
     * @return the message's id
     */
    fun add(
        buffer: RegisteredBuffer,
        sender: CancellableContinuation<Unit>?,
    ): Int {
        buffer.pin()
        var isAdded = false
        try {
            return synchronized(lock) {
                failure?.let { throw it }
                waiting[next] = Waiting(buffer, sender)
                isAdded = true
                next++
            }
        } finally {
            if (!isAdded) buffer.unpin()
        }
    }

    /**
     * Removes a message that was not sent; the caller keeps its credit of [room]. False if the channel has ended
     * before.
     */
    fun takeBack(id: Int): Boolean {
        val gone = synchronized(lock) { waiting.remove(id) } ?: return false
        gone.buffer.unpin()
        return true
    }

    /** Unpins a message that the peer has read, and resumes its sender. */
    fun done(id: Int) {
        val read =
            synchronized(lock) { waiting.remove(id) }
                ?: throw ChannelProtocolException(
                    "the peer has read the large message $id, which this side is not sending",
                )
        try {
            read.buffer.unpin()
        } finally {
            room.release(1)
            waking { read.sender?.resume(Unit) }
        }
    }

    /** Suspends until the peer has read all large messages. */
    suspend fun awaitAll() {
        room.acquire(count)
        room.release(count)
    }

    /**
     * Ends the waits of all senders, as the channel has ended.
     *
     * @param areRead whether the peer has read their messages, and DONE did not come before the end
     */
    fun end(
        cause: Throwable,
        areRead: Boolean,
    ) {
        val left =
            synchronized(lock) {
                failure = cause
                waiting.values.toList().also { waiting.clear() }
            }
        room.fail(cause)
        left.forEach { if (areRead) waking { it.sender?.resume(Unit) } else it.sender?.fail(cause) }
        closeAll(*Array(left.size) { AutoCloseable { left[it].buffer.unpin() } })
    }
}
