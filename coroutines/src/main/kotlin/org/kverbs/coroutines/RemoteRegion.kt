package org.kverbs.coroutines

import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionOpcode
import org.kverbs.dsl.RcVerbs
import java.util.Locale

/**
 * Reads and writes memory of the peer; the peer's program is not told. Offsets and lengths are in bytes. Numbers have
 * the byte order of this machine; if the peer reads them, it must use the same order.
 *
 * **Atomicity.** Reads and writes above 1 MiB are done in pieces; operations of other peers can come between the
 * pieces.
 *
 * **Cancellation.** Each function returns when the operation is done. If the caller is cancelled, a posted operation
 * goes on: its buffers stay pinned, and the peer's memory changes.
 *
 * **Errors.** Bytes outside the region throw IndexOutOfBoundsException; nothing is sent then. If the peer's device
 * refuses an operation, for example after the peer has closed the region, the call throws
 * [org.kverbs.WorkCompletionException], and the queue pair and the channel end.
 *
 * **Threads.** Any thread can call. A RemoteRegion needs no close.
 */
public class RemoteRegion internal constructor(
    /** The address, length and key. */
    public val memory: RemoteMemory,
    private val queuePair: AsyncQueuePair<RcVerbs>,
    private val transfers: RemoteTransfers,
) {
    /** Length of the region in bytes. */
    public val length: Long get() = memory.length()

    /** Reads [length] bytes, from byte [offset] of the region on. */
    public suspend fun read(
        offset: Long,
        length: Int,
    ): ByteArray = transfers.read(part(offset, length.toLong()))

    /** Reads [length] bytes, at most 2 GiB, with both numbers as `Long`. */
    public suspend fun read(
        offset: Long,
        length: Long,
    ): ByteArray {
        require(length <= Int.MAX_VALUE) { "a byte array of $length bytes; read parts, or into a buffer" }
        return transfers.read(part(offset, length))
    }

    /** Reads [length] bytes, with both numbers as `Int`. */
    public suspend fun read(
        offset: Int,
        length: Int,
    ): ByteArray = read(offset.toLong(), length)

    /** Reads [length] bytes, from byte [offset] of the region on, into the start of a buffer without a copy. */
    public suspend fun read(
        into: RegisteredBuffer,
        offset: Long = 0,
        length: Long = into.memory.byteSize(),
    ) {
        requireRoom(into, length)
        transfers.read(part(offset, length), into)
    }

    /** Writes [bytes], from byte [offset] of the region on. */
    public suspend fun write(
        bytes: ByteArray,
        offset: Long = 0,
    ): Unit = transfers.write(part(offset, bytes.size.toLong()), bytes)

    /** Writes [bytes], with the offset as `Int`. */
    public suspend fun write(
        bytes: ByteArray,
        offset: Int,
    ): Unit = write(bytes, offset.toLong())

    /** Writes the first [length] bytes of a buffer without a copy, from byte [offset] of the region on. */
    public suspend fun write(
        from: RegisteredBuffer,
        offset: Long = 0,
        length: Long = from.memory.byteSize(),
    ) {
        requireRoom(from, length)
        transfers.write(part(offset, length), from)
    }

    /** Reads the 8 bytes at [offset] as a number. */
    public suspend fun readLong(offset: Long): Long {
        val at = part(offset, Long.SIZE_BYTES.toLong())
        return queuePair.sends.awaitResult(READ) { requests, id -> requests.read(id, at) }
    }

    /** Reads the 8 bytes at [offset], an `Int`, as a number. */
    public suspend fun readLong(offset: Int): Long = readLong(offset.toLong())

    /** Writes a number as the 8 bytes at [offset]. */
    public suspend fun writeLong(
        offset: Long,
        value: Long,
    ) {
        val at = part(offset, Long.SIZE_BYTES.toLong())
        queuePair.sends.awaitNumber(WRITE, value) { requests, id -> requests.write(id, at) }
    }

    /** Writes a number as the 8 bytes at [offset], an `Int`. */
    public suspend fun writeLong(
        offset: Int,
        value: Long,
    ): Unit = writeLong(offset.toLong(), value)

    /**
     * Replaces the 8 bytes at [offset] by [swap] if they equal [compare]. This is atomic for all atomics of the
     * peer's device.
     *
     * @param offset gives an address of the peer that is a multiple of 8
     * @return the value before
     * @throws IllegalArgumentException if the address is not a multiple of 8
     */
    public suspend fun compareAndSwap(
        offset: Long,
        compare: Long,
        swap: Long,
    ): Long = queuePair.compareAndSwap(aligned(offset), compare, swap)

    /** Compares and swaps the 8 bytes at [offset], an `Int`. */
    public suspend fun compareAndSwap(
        offset: Int,
        compare: Long,
        swap: Long,
    ): Long = compareAndSwap(offset.toLong(), compare, swap)

    /** Adds [add] to the 8 bytes at [offset]; otherwise as [compareAndSwap]. */
    public suspend fun fetchAndAdd(
        offset: Long,
        add: Long,
    ): Long = queuePair.fetchAndAdd(aligned(offset), add)

    /** Adds [add] to the 8 bytes at [offset], an `Int`. */
    public suspend fun fetchAndAdd(
        offset: Int,
        add: Long,
    ): Long = fetchAndAdd(offset.toLong(), add)

    private fun part(
        offset: Long,
        length: Long,
    ): RemoteMemory {
        if (offset < 0 || length < 0 || length > memory.length() - offset) {
            throw IndexOutOfBoundsException(
                "$length bytes at $offset reach beyond the remote region of ${memory.length()} bytes",
            )
        }
        return memory.slice(offset, length)
    }

    private fun aligned(offset: Long): RemoteMemory {
        val at = part(offset, Long.SIZE_BYTES.toLong())
        require(at.address() % Long.SIZE_BYTES == 0L) {
            "an atomic at offset $offset is at address 0x%x of the peer; it must be a multiple of 8".format(
                Locale.ROOT,
                at.address(),
            )
        }
        return at
    }

    private fun requireRoom(
        buffer: RegisteredBuffer,
        length: Long,
    ) {
        val room = buffer.memory.byteSize()
        if (length !in 0..room) throw IndexOutOfBoundsException("$length bytes reach beyond the buffer of $room bytes")
    }

    /** Shows the address, the key and the length in bytes. */
    override fun toString(): String = "RemoteRegion(${memory.toText()})"

    private companion object {
        val READ = WorkCompletionOpcode.RDMA_READ.code()
        val WRITE = WorkCompletionOpcode.RDMA_WRITE.code()
    }
}
