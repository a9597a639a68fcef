package org.kverbs.coroutines

import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import org.kverbs.AccessFlag
import org.kverbs.ProtectionDomain
import java.lang.foreign.ValueLayout.JAVA_BYTE

/**
 * The user's messages on their way in. One reader at a time stands at the first message, and removes it when it has all of it; so a
 * reader that is cancelled leaves it to the next.
 */
internal class ChannelReader(
    private val link: ChannelLink,
    private val pd: ProtectionDomain,
) {
    private val turn = Mutex()
    private val atOnce = minOf(link.settings.oneSided, MOST_AT_ONCE)

    /** A message, or null at the end. */
    suspend fun receive(): ByteArray? =
        turn.withLock {
            when (val first = link.inbox.awaitFirst()) {
                null -> null
                is ChannelArrival.Small -> link.takeSmall(first) { it.toArray(JAVA_BYTE) }
                is ChannelArrival.Large -> takeLarge(first)
            }
        }

    /** Its length, or null at the end. */
    suspend fun receive(into: RegisteredBuffer): Long? =
        turn.withLock {
            val first = link.inbox.awaitFirst() ?: return null
            val room = into.memory.byteSize()
            require(first.length <= room) { "a message of ${first.length} bytes came, the buffer has $room; take it with a larger one, or receive()" }
            when (first) {
                is ChannelArrival.Small -> link.takeSmall(first) { into.memory.asSlice(0, first.length).copyFrom(it) }
                is ChannelArrival.Large -> {
                    read(first, into)
                    link.largeTaken(first)
                }
            }
            first.length
        }

    private suspend fun takeLarge(message: ChannelArrival.Large): ByteArray {
        require(message.length <= LARGEST_ARRAY) { "a message of ${message.length} bytes fits into no array; take it with receive(buffer)" }
        if (message.length == 0L) return ByteArray(0).also { link.largeTaken(message) }
        RegionBuffer(pd, message.length, AccessFlag.LOCAL_WRITE).use {
            read(message, it)
            val bytes = it.memory.toArray(JAVA_BYTE)
            link.largeTaken(message)
            return bytes
        }
    }

    /** Reads it out of the peer's memory, a few pieces at a time. */
    private suspend fun read(
        message: ChannelArrival.Large,
        into: RegisteredBuffer,
    ) {
        val memory = message.memory
        var read = 0L
        while (read < message.length) {
            val pieces = minOf(atOnce.toLong(), (message.length - read + PIECE - 1) / PIECE).toInt()
            val from = read
            link.pair.oneSided.awaitAll(arrayOf(into)) { requests ->
                repeat(pieces) {
                    val at = from + it * PIECE
                    val length = minOf(PIECE, message.length - at)
                    requests.read(0, memory.address() + at, memory.rkey()).into(into.slice(at, length))
                }
            }
            read = minOf(message.length, from + pieces * PIECE)
        }
    }

    private companion object {
        const val PIECE = 1L shl 20
        const val MOST_AT_ONCE = 8
        const val LARGEST_ARRAY = Int.MAX_VALUE - 8L
    }
}
