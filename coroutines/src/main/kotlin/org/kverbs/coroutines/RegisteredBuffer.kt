package org.kverbs.coroutines

import org.kverbs.MemorySlice
import java.lang.foreign.MemorySegment

/**
 * A piece of registered memory that is lent by a pool. Work requests on it pin it: [close] returns at once, and the
 * memory goes back to the pool when the last of them has completed or was flushed, so that a device never writes into
 * memory with a new owner.
 */
public abstract class RegisteredBuffer internal constructor() : AutoCloseable {
    /** All of it, to read and write, as long as it isn't closed. */
    public abstract val memory: MemorySegment

    /**
     * A part of it for a work request: [offset] and [length] in bytes. Each suspending operation pins the buffer by it.
     * Requests that are posted by plain verbs don't: then close the buffer when they have completed.
     */
    public abstract fun slice(
        offset: Long = 0,
        length: Long = memory.byteSize() - offset,
    ): MemorySlice

    /** The same without an owner, for a request whose poster pins the buffer: it makes no object where [slice] does. */
    internal abstract fun part(
        offset: Long,
        length: Long,
    ): MemorySlice

    /** All of it, as a [part]. */
    internal fun all(): MemorySlice = part(0, memory.byteSize())

    /** A work request begins to use it. Throws IllegalStateException if it is closed. */
    internal abstract fun pin()

    /** The work request has completed. Any thread. */
    internal abstract fun unpin()
}

/** The pooled buffer that the slice is a part of, or null. */
internal val MemorySlice.pin: RegisteredBuffer? get() = owner() as? RegisteredBuffer
