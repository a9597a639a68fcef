package org.kverbs.coroutines

import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import java.lang.foreign.ValueLayout.JAVA_BYTE

/**
 * The user's messages on their way in. One reader at a time stands at the first message, and removes it when it has all of it; so a
 * reader that is cancelled leaves it to the next.
 */
internal class ChannelReader(
    private val link: ChannelLink,
    private val transfers: RemoteTransfers,
) {
    private val turn = Mutex()

    /** A message, or null at the end. */
    suspend fun receive(): ByteArray? =
        turn.withLock {
            when (val first = link.inbox.awaitFirst()) {
                null -> null
                is ChannelArrival.Small -> link.arrivals.takeSmall(first) { it.toArray(JAVA_BYTE) }
                is ChannelArrival.Large -> takeLarge(first)
            }
        }

    /** Its length, or null at the end. */
    suspend fun receive(into: RegisteredBuffer): Long? =
        turn.withLock {
            val first = link.inbox.awaitFirst() ?: return null
            val room = into.memory.byteSize()
            require(
                first.length <= room,
            ) { "a message of ${first.length} bytes came, the buffer has $room; take it with a larger one, or receive()" }
            when (first) {
                is ChannelArrival.Small -> {
                    link.arrivals.takeSmall(first) { into.memory.asSlice(0, first.length).copyFrom(it) }
                }

                is ChannelArrival.Large -> {
                    transfers.read(first.memory, into)
                    link.arrivals.largeTaken(first)
                }
            }
            first.length
        }

    private suspend fun takeLarge(message: ChannelArrival.Large): ByteArray {
        require(message.length <= LARGEST_ARRAY) { "a message of ${message.length} bytes fits into no array; take it with receive(buffer)" }
        if (message.length == 0L) return ByteArray(0).also { link.arrivals.largeTaken(message) }
        val bytes = transfers.read(message.memory)
        link.arrivals.largeTaken(message)
        return bytes
    }

    private companion object {
        const val LARGEST_ARRAY = Int.MAX_VALUE - 8L
    }
}
