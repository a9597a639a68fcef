package org.kverbs.coroutines

import org.kverbs.Diagnostics
import org.kverbs.MemorySlice
import java.lang.foreign.MemorySegment
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater

/**
 * One loan of a chunk. Each loan is a new object, so that a second close cannot affect the next owner of the chunk.
 */
internal class PooledBuffer(
    private val pool: BufferPool,
    private val chunk: Chunk,
    private val length: Long,
) : RegisteredBuffer() {
    /** The number of work requests that use the buffer; the sign bit is set once it is closed. */
    @Volatile
    private var state = 0
    private var closedAt: Throwable? = null

    override val memory: MemorySegment
        get() {
            if (state < 0) throw closed()
            return chunk.memory(length)
        }

    override fun slice(
        offset: Long,
        length: Long,
    ): MemorySlice {
        requireInside(offset, length)
        return chunk.slab.region.slice(chunk.offset + offset, length, this)
    }

    override fun part(
        offset: Long,
        length: Long,
    ): MemorySlice {
        requireInside(offset, length)
        return if (offset == 0L) chunk.slice(length) else chunk.slab.region.slice(chunk.offset + offset, length)
    }

    private fun requireInside(
        offset: Long,
        length: Long,
    ) {
        if (state < 0) throw closed()
        if (offset < 0 || length < 0 || length > this.length - offset) {
            throw IndexOutOfBoundsException("offset $offset and length $length reach beyond the $this")
        }
    }

    override fun pin() {
        while (true) {
            val now = state
            if (now < 0) throw closed()
            if (STATE.compareAndSet(this, now, now + 1)) return
        }
    }

    override fun unpin() {
        if (STATE.decrementAndGet(this) == CLOSED) pool.giveBack(this, chunk)
    }

    override fun close() {
        val trace = if (Diagnostics.areOn()) Throwable("closed here by ${Thread.currentThread().name}") else null
        while (true) {
            val now = state
            if (now < 0) return
            if (STATE.compareAndSet(this, now, now or CLOSED)) {
                closedAt = trace
                if (now == 0) pool.giveBack(this, chunk)
                return
            }
        }
    }

    private fun closed(): IllegalStateException {
        val where = closedAt
        val hint = if (where == null && !Diagnostics.areOn()) " (set -Dkverbs.diagnostics=true to see where)" else ""
        return IllegalStateException("$this is closed; a buffer is used until its close, then take another$hint", where)
    }

    override fun toString(): String =
        "buffer of $length bytes at ${chunk.offset} in slab ${chunk.slab.number} of the ${pool.describe()}"

    private companion object {
        const val CLOSED = Int.MIN_VALUE
        val STATE: AtomicIntegerFieldUpdater<PooledBuffer> =
            AtomicIntegerFieldUpdater.newUpdater(
                PooledBuffer::class.java,
                "state",
            )
    }
}
