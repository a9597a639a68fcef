package org.kverbs.coroutines

import org.kverbs.MemorySlice
import java.lang.foreign.MemorySegment

/**
 * A piece of registered memory that a pool lends. Work requests pin the buffer: [close] returns at once, and the memory
 * goes back to the pool when the last request has completed or was flushed, so that a device never writes into memory
 * with a new owner.
 */
public abstract class RegisteredBuffer internal constructor() : AutoCloseable {
    /** The memory, to read and write until the buffer is closed. */
    public abstract val memory: MemorySegment

    /**
     * Returns a part of the buffer for a work request; [offset] and [length] are in bytes. A suspending operation with
     * this slice pins the buffer. A request that is posted with plain verbs does not: close the buffer only after such
     * a request has completed.
     */
    public abstract fun slice(
        offset: Long = 0,
        length: Long = memory.byteSize() - offset,
    ): MemorySlice

    /** Returns a part of the buffer for a work request, with both numbers as `Int`. */
    public fun slice(
        offset: Int,
        length: Int,
    ): MemorySlice = slice(offset.toLong(), length.toLong())

    /**
     * Returns a part without an owner, for a request whose poster pins the buffer; unlike [slice] it can avoid an
     * allocation.
     */
    internal abstract fun part(
        offset: Long,
        length: Long,
    ): MemorySlice

    /** Returns the whole buffer as a [part]. */
    internal fun all(): MemorySlice = part(0, memory.byteSize())

    /** Pins the buffer for a work request. Throws IllegalStateException if the buffer is closed. */
    internal abstract fun pin()

    /** Unpins the buffer after the work request has completed. Any thread can call. */
    internal abstract fun unpin()
}

/** The pooled buffer that contains the slice, or null. */
internal val MemorySlice.pin: RegisteredBuffer? get() = owner() as? RegisteredBuffer
