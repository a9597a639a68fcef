package org.kverbs.coroutines

import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionOpcode
import org.kverbs.dsl.RcVerbs

/**
 * Memory of the peer, to read and write without the peer noticing. Offsets and lengths are bytes; numbers are in the
 * byte order of this machine, which must be the peer's too if it looks at them.
 *
 * Each function returns when it is done, and leaves nothing behind when it fails before. Cancelled, an operation that
 * was posted goes on: buffers stay pinned, and the peer's memory changes. Reads and writes above 1 MiB go in pieces,
 * which others' may come between.
 *
 * **Errors.** IndexOutOfBoundsException before anything is sent; [org.kverbs.WorkCompletionException] if the peer's
 * device refuses, for example after the region was closed there: that ends the queue pair, and with it the channel.
 *
 * Any thread. The owner of the channel closes it; nothing here needs a close.
 */
public class RemoteRegion internal constructor(
    /** Address and key. */
    public val memory: RemoteMemory,
    private val queuePair: AsyncQueuePair<RcVerbs>,
    private val transfers: RemoteTransfers,
) {
    /** Bytes. */
    public val length: Long get() = memory.length()

    /** Reads [length] bytes from byte [offset] on. */
    public suspend fun read(
        offset: Long,
        length: Int,
    ): ByteArray = transfers.read(part(offset, length.toLong()))

    /** Reads [length] bytes from byte [offset] on straight into the beginning of a buffer. */
    public suspend fun read(
        into: RegisteredBuffer,
        offset: Long = 0,
        length: Long = into.memory.byteSize(),
    ) {
        requireRoom(into, length)
        transfers.read(part(offset, length), into)
    }

    /** Writes all [bytes], from byte [offset] on. */
    public suspend fun write(
        bytes: ByteArray,
        offset: Long = 0,
    ): Unit = transfers.write(part(offset, bytes.size.toLong()), bytes)

    /** Writes the first [length] bytes of a buffer straight from it, from byte [offset] of the region on. */
    public suspend fun write(
        from: RegisteredBuffer,
        offset: Long = 0,
        length: Long = from.memory.byteSize(),
    ) {
        requireRoom(from, length)
        transfers.write(part(offset, length), from)
    }

    /** Reads 8 bytes as a number. */
    public suspend fun readLong(offset: Long): Long {
        val at = part(offset, Long.SIZE_BYTES.toLong())
        return queuePair.sends.awaitResult(READ) { requests, id -> requests.read(id, at) }
    }

    /** Writes a number as 8 bytes. */
    public suspend fun writeLong(
        offset: Long,
        value: Long,
    ) {
        val at = part(offset, Long.SIZE_BYTES.toLong())
        queuePair.sends.awaitNumber(WRITE, value) { requests, id -> requests.write(id, at) }
    }

    /**
     * If the 8 bytes there equal [expected] they become [value], at once for all who use atomics of that device.
     *
     * @param offset to an address over there that is a multiple of 8
     * @return what stood there before
     */
    public suspend fun compareAndSwap(
        offset: Long,
        expected: Long,
        value: Long,
    ): Long = queuePair.compareAndSwap(aligned(offset), expected, value)

    /** Adds [add] to the 8 bytes there; otherwise as [compareAndSwap]. */
    public suspend fun fetchAndAdd(
        offset: Long,
        add: Long,
    ): Long = queuePair.fetchAndAdd(aligned(offset), add)

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

    /** Says the address, the key and the length in bytes. */
    override fun toString(): String = "RemoteRegion(${memory.toText()})"

    private companion object {
        val READ = WorkCompletionOpcode.RDMA_READ.code()
        val WRITE = WorkCompletionOpcode.RDMA_WRITE.code()
    }
}
