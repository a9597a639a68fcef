package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.suspendCancellableCoroutine
import org.kverbs.AccessFlag
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE

/** The user's messages on their way out: each gets what it needs, one thing after the other, and gives it back if it isn't sent. */
internal class ChannelSends(
    private val link: ChannelLink,
    private val pd: ProtectionDomain,
) {
    private val room get() = link.outbox.room

    suspend fun send(bytes: ByteArray) {
        val window = link.window()
        if (bytes.size > window.eagerLimit) {
            sendCopy(MemorySegment.ofArray(bytes), window)
        } else {
            link.outbox.send(ChannelMessage.DATA, bytes.size) { slot ->
                MemorySegment.copy(bytes, 0, slot, JAVA_BYTE, ChannelMessage.HEADER.toLong(), bytes.size)
            }
        }
    }

    suspend fun send(
        buffer: RegisteredBuffer,
        length: Long,
    ) {
        val window = link.window()
        require(length in 0..buffer.memory.byteSize()) { "$length bytes of a buffer of ${buffer.memory.byteSize()}" }
        val body = buffer.slice(0, length)
        when {
            length <= window.eagerLimit -> window.credits.holding { spend -> link.outbox.sendFrom(buffer, body, spend) }
            AccessFlag.REMOTE_READ in body.region().access() -> sendLarge(buffer, body, window)
            else -> sendCopy(buffer.memory.asSlice(0, length), window)
        }
    }

    private suspend fun sendCopy(
        bytes: MemorySegment,
        window: ChannelWindow,
    ) {
        requireTaken(bytes.byteSize(), window)
        RegionBuffer(pd, bytes.byteSize(), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ).use {
            it.memory.copyFrom(bytes)
            sendLarge(it, it.slice(), window)
        }
    }

    private fun requireTaken(
        length: Long,
        window: ChannelWindow,
    ) {
        require(
            length <= window.maxMessage,
        ) { "a message of $length bytes; the peer takes at most ${window.maxMessage} (its maxMessage setting)" }
    }

    private suspend fun sendLarge(
        buffer: RegisteredBuffer,
        body: MemorySlice,
        window: ChannelWindow,
    ) {
        requireTaken(body.length(), window)
        link.large.room.holding { spendRoom ->
            window.credits.holding { spend ->
                room.acquire(1)
                suspendCancellableCoroutine { announce(it, buffer, body) { spendRoom().also { spend() } } }
            }
        }
    }

    /** Has room in the send queue, which is given back if nothing is posted. */
    private fun announce(
        sender: CancellableContinuation<Unit>,
        buffer: RegisteredBuffer,
        body: MemorySlice,
        spend: () -> Unit,
    ) {
        val id =
            try {
                link.large.add(buffer, sender)
            } catch (e: RuntimeException) {
                room.release(1)
                throw e
            }
        var posted = false
        try {
            val memory = body.region().remote().slice(body.offset(), body.length())
            link.outbox.post(ChannelMessage.LARGE, ChannelMessage.LARGE_BODY) { slot ->
                ChannelMessage.putInt(slot, 0, id)
                ChannelMessage.putInt(slot, 4, memory.rkey())
                ChannelMessage.putLong(slot, 8, memory.address())
                ChannelMessage.putLong(slot, 16, memory.length())
                spend()
            }
            posted = true
        } finally {
            if (!posted) link.large.takeBack(id)
        }
    }
}
