package org.kverbs.coroutines

import org.kverbs.AccessFlag
import org.kverbs.ProtectionDomain
import org.kverbs.RemoteMemory
import org.kverbs.SendRequests
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE

/** Moves any number of bytes between the peer's memory and this side's: in pieces that every device can do, several at a time. */
internal class RemoteTransfers(
    private val oneSided: SendSide,
    private val pd: ProtectionDomain,
    private val pool: BufferPool?,
) {
    private val atOnce = minOf(oneSided.capacity, MOST_AT_ONCE)

    /** All of it as an array. */
    suspend fun read(from: RemoteMemory): ByteArray {
        if (from.length() == 0L) return ByteArray(0)
        return take(from.length()).use {
            read(from, it)
            it.memory.asSlice(0, from.length()).toArray(JAVA_BYTE)
        }
    }

    /** All of it into the beginning of a buffer. */
    suspend fun read(
        from: RemoteMemory,
        into: RegisteredBuffer,
    ): Unit =
        inPieces(from.length()) { requests, at, length ->
            requests.read(0, from.address() + at, from.rkey()).into(into.slice(at, length))
        }

    suspend fun write(
        to: RemoteMemory,
        bytes: ByteArray,
    ) {
        if (bytes.isEmpty()) return
        take(bytes.size.toLong()).use {
            MemorySegment.copy(bytes, 0, it.memory, JAVA_BYTE, 0, bytes.size)
            write(to, it)
        }
    }

    /** As many bytes as [to] has, out of the beginning of a buffer. */
    suspend fun write(
        to: RemoteMemory,
        from: RegisteredBuffer,
    ): Unit =
        inPieces(to.length()) { requests, at, length ->
            requests.write(0, to.address() + at, to.rkey()).from(from.slice(at, length))
        }

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

    /** Memory of this side that the peer doesn't see. */
    private fun take(length: Long): RegisteredBuffer =
        pool?.let { if (length <= it.maxBuffer) it.tryTake(length) else null } ?: RegionBuffer(pd, length, AccessFlag.LOCAL_WRITE)

    private companion object {
        const val PIECE = 1L shl 20
        const val MOST_AT_ONCE = 8
    }
}
