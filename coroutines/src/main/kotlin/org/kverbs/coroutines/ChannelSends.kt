package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import org.kverbs.MemorySlice
import org.kverbs.attributes.AccessFlag
import java.lang.foreign.MemorySegment

/**
 * Sends the program's messages. Each message takes its resources in a fixed order, and gives them back if it is not
 * sent.
 */
internal class ChannelSends(
    private val link: ChannelLink,
) {
    private val memory = link.memory
    private val room get() = link.outbox.room

    suspend fun send(bytes: ByteArray) {
        val window = link.window()
        if (bytes.size > window.eagerLimit) {
            sendCopy(MemorySegment.ofArray(bytes), window)
        } else {
            sendShort(MemorySegment.ofArray(bytes))
        }
    }

    suspend fun send(
        buffer: RegisteredBuffer,
        length: Long,
    ) {
        val window = link.window()
        require(length in 0..buffer.memory.byteSize()) {
            "$length bytes of a buffer of ${buffer.memory.byteSize()} bytes can't be sent; give 0 to that size"
        }
        val body = buffer.part(0, length)
        val local = memory.local(body)
        val isShort = length <= window.eagerLimit
        when {
            isShort && local != null -> window.credits.holding { spend -> link.outbox.sendFrom(buffer, local, spend) }
            isShort -> sendShort(buffer.memory.asSlice(0, length))
            local != null && AccessFlag.REMOTE_READ in body.region().access() -> sendLarge(buffer, body, local, window)
            else -> sendCopy(buffer.memory.asSlice(0, length), window)
        }
    }

    private suspend fun sendShort(bytes: MemorySegment): Unit =
        link.outbox.send(ChannelMessage.DATA, bytes.byteSize().toInt()) { slot ->
            MemorySegment.copy(bytes, 0, slot, ChannelMessage.HEADER.toLong(), bytes.byteSize())
        }

    /** Sends a copy, and returns when the message is announced. The copy is kept until the peer has read it. */
    private suspend fun sendCopy(
        bytes: MemorySegment,
        window: ChannelWindow,
    ) {
        requireTaken(bytes.byteSize(), window)
        link.large.room.holding { spendRoom ->
            memory.takeLent(bytes.byteSize()).use { copy ->
                copy.memory.copyFrom(bytes)
                val part = copy.part(0, bytes.byteSize())
                link.lend(copy, part, part).use { lent ->
                    window.credits.holding { spend ->
                        room.acquire(1)
                        announce(null, lent) { spendRoom().also { spend() } }
                    }
                }
            }
        }
    }

    private fun requireTaken(
        length: Long,
        window: ChannelWindow,
    ) {
        require(
            length <= window.maxMessage,
        ) { "a message of $length bytes; the peer takes at most ${window.maxMessage} (its maxMessageSize setting)" }
    }

    private suspend fun sendLarge(
        buffer: RegisteredBuffer,
        body: MemorySlice,
        local: MemorySlice,
        window: ChannelWindow,
    ) {
        requireTaken(body.length(), window)
        link.large.room.holding { spendRoom ->
            link.lend(buffer, body, local).use { lent ->
                window.credits.holding { spend ->
                    room.acquire(1)
                    suspendToPost { announce(it, lent) { spendRoom().also { spend() } } }
                }
            }
        }
    }

    /**
     * Announces a large message. The caller holds an entry of the send queue, which is given back if nothing is posted.
     */
    private fun announce(
        sender: CancellableContinuation<Unit>?,
        lent: LentBuffer,
        spend: () -> Unit,
    ) {
        val id =
            try {
                link.large.add(lent, sender)
            } catch (e: Throwable) {
                room.release(1)
                throw e
            }
        var posted = false
        try {
            val remote = lent.remote
            link.outbox.post(ChannelMessage.LARGE, ChannelMessage.LARGE_BODY) { slot ->
                ChannelMessage.putInt(slot, 0, id)
                ChannelMessage.putInt(slot, 4, remote.rkey())
                ChannelMessage.putLong(slot, 8, remote.address())
                ChannelMessage.putLong(slot, 16, remote.length())
                spend()
            }
            posted = true
        } finally {
            if (!posted) link.large.takeBack(id)
        }
    }
}
