package org.kverbs.coroutines

import org.kverbs.MemorySlice
import org.kverbs.RemoteMemory
import org.kverbs.SendRequests
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE

/**
 * Moves any number of bytes between the peer's memory and this side's, in pieces that every device supports, several at
 * a time.
 */
internal class RemoteTransfers(
    private val oneSided: SendSide,
    private val memory: ChannelMemory,
) {
    private val atOnce = minOf(oneSided.capacity, MOST_AT_ONCE)

    /**
     * Reads all of [from] into an array, which grows with the bytes read: a peer that announces more than it has costs
     * at most one piece of memory.
     */
    suspend fun read(from: RemoteMemory): ByteArray {
        val length = from.length().toInt()
        if (length == 0) return ByteArray(0)
        val piece = minOf(length, memory.piece)
        return memory.takePrivate(piece.toLong()).use { buffer ->
            var bytes = ByteArray(0)
            var done = 0
            while (done < length) {
                val part = minOf(piece, length - done)
                read(from.slice(done.toLong(), part.toLong()), buffer)
                if (done + part > bytes.size) {
                    bytes =
                        bytes.copyOf(maxOf(done + part, minOf(2L * bytes.size, length.toLong()).toInt()))
                }
                MemorySegment.copy(buffer.memory, JAVA_BYTE, 0, bytes, done, part)
                done += part
            }
            bytes
        }
    }

    /** Reads all of [from] into the start of a buffer. */
    suspend fun read(
        from: RemoteMemory,
        into: RegisteredBuffer,
    ): Unit =
        if (from.length() in 1..PIECE) {
            inOne(SendOperation.READ, into, from)
        } else {
            inPieces(from.length()) { requests, at, length ->
                requests.read(0, from.address() + at, from.rkey()).into(local(into, at, length))
            }
        }

    suspend fun write(
        to: RemoteMemory,
        bytes: ByteArray,
    ) {
        if (bytes.isEmpty()) return
        memory.takePrivate(bytes.size.toLong()).use {
            MemorySegment.copy(bytes, 0, it.memory, JAVA_BYTE, 0, bytes.size)
            write(to, it)
        }
    }

    /** Writes all of [to] from the start of a buffer. */
    suspend fun write(
        to: RemoteMemory,
        from: RegisteredBuffer,
    ): Unit =
        if (to.length() in 1..PIECE) {
            inOne(SendOperation.WRITE, from, to)
        } else {
            inPieces(to.length()) { requests, at, length ->
                requests.write(0, to.address() + at, to.rkey()).from(local(from, at, length))
            }
        }

    /**
     * Moves all of [remote] by one request. That needs no list of requests, and on the polling thread the caller looks
     * for the completion before it suspends.
     */
    private suspend fun inOne(
        operation: SendOperation,
        buffer: RegisteredBuffer,
        remote: RemoteMemory,
    ) {
        val part = local(buffer.part(0, remote.length()))
        oneSided.await(operation, part, buffer, remote.address(), remote.rkey(), 0, null)
    }

    private fun local(
        buffer: RegisteredBuffer,
        at: Long,
        length: Long,
    ) = local(buffer.slice(at, length))

    private fun local(part: MemorySlice) =
        requireNotNull(memory.local(part)) { "the buffer belongs to another open device or connection" }

    private suspend inline fun inPieces(
        length: Long,
        crossinline begin: (SendRequests, Long, Long) -> Unit,
    ) {
        var done = 0L
        while (done < length) {
            val start = done
            val end = minOf(length, start + atOnce * PIECE)
            oneSided.awaitAll { requests ->
                for (at in start until end step PIECE) begin(requests, at, minOf(PIECE, end - at))
            }
            done = end
        }
    }

    private companion object {
        const val PIECE = 1L shl 20
        const val MOST_AT_ONCE = 8
    }
}
