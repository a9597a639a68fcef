package org.kverbs.coroutines

import org.kverbs.MemorySlice
import org.kverbs.RemoteMemory
import java.lang.foreign.MemorySegment
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.atomic.AtomicInteger

/**
 * A buffer that the peer can read until its owner has closed it and no request uses it.
 *
 * @param remote the address and key that the peer needs
 * @param buffer the pinned buffer; it is unpinned when the peer's access has ended
 * @param takeBack ends the peer's access, and then calls its argument
 */
internal class LentBuffer(
    val remote: RemoteMemory,
    private val buffer: RegisteredBuffer,
    private val takeBack: (() -> Unit) -> Unit,
) : RegisteredBuffer() {
    /** The number of users: the owner, and the requests that use the buffer. */
    private val users = AtomicInteger(1)
    private val isClosed = AtomicBoolean()

    override val memory: MemorySegment get() = buffer.memory

    override fun slice(
        offset: Long,
        length: Long,
    ): MemorySlice = buffer.slice(offset, length)

    override fun part(
        offset: Long,
        length: Long,
    ): MemorySlice = buffer.part(offset, length)

    override fun pin() {
        check(users.getAndUpdate { if (it == 0) 0 else it + 1 } > 0) { "the buffer is closed: use it before its close" }
    }

    override fun unpin() {
        if (users.decrementAndGet() == 0) takeBack(buffer::unpin)
    }

    override fun close() {
        if (isClosed.compareAndSet(false, true)) unpin()
    }
}
