package org.kverbs.coroutines

import org.kverbs.Diagnostics
import org.kverbs.ProtectionDomain
import java.util.concurrent.ConcurrentHashMap

/**
 * Lends registered memory: `pool.take(4096).use { qp.send(it) }`. Registering memory is slow, taking a buffer is fast.
 *
 * The pool registers slabs as callers need them, up to `maxBytes`, and cuts each slab into buffers of one power-of-two
 * size. When a size has run out, the pool cuts a slab of which no buffer is lent for that size. The first caller that
 * needs a slab registers it; other callers wait meanwhile.
 *
 * **Ownership.** A buffer belongs to the caller that took it, until [RegisteredBuffer.close]. A new buffer still
 * contains the bytes of its last use. A closed buffer that work requests still use returns to the pool when the last of
 * them completes. A buffer that is never closed stays lent: [close] reports the number of such buffers, and with
 * [Diagnostics] on the places where they were taken.
 *
 * **Threads.** Any thread can call.
 */
public class BufferPool internal constructor(
    private val pd: ProtectionDomain,
    private val slabs: Slabs,
    internal val maxBufferSize: Long,
) : AutoCloseable {
    /** The buffers that were taken with diagnostics on and are still lent. */
    private val traces = ConcurrentHashMap<PooledBuffer, Throwable>()

    private val forgetAtDomain =
        pd.whenClosed { slabs.close("the protection domain of the ${describe()} was closed") }

    /** Bytes that are not lent, registered or not. A buffer counts with its size rounded up to a power of two. */
    public val available: Long get() = slabs.available

    /** Number of buffers that are lent: not closed, or still in use by a work request. */
    public val taken: Int get() = slabs.taken

    /** Number of callers that wait for a buffer. */
    public val waiting: Int get() = slabs.waiting

    /**
     * All figures of the pool at one moment, for monitoring. It blocks take and close of buffers while it looks at
     * every slab.
     */
    public val stats: BufferPoolStats get() = slabs.stats

    /**
     * Takes a buffer of [size] bytes, and suspends while there is none. Callers of one power of two are served in the
     * order of their calls. A size without a slab gets the next slab that becomes empty, so that small buffers do not
     * starve a large one.
     *
     * A cancelled caller takes nothing: a buffer that becomes free at that moment goes to the next caller. With
     * `withTimeout`, use the buffer inside the block: the block's result is lost if the time ends at that moment.
     *
     * @throws IllegalArgumentException if [size] is not above 0, or is above the pool's `maxBufferSize`
     * @throws IllegalStateException if the pool or its protection domain is closed, before or during the wait
     * @throws org.kverbs.RdmaSystemException if the device cannot register a slab; for ENOMEM the message names the
     *   memlock limit
     */
    public suspend fun take(size: Long): RegisteredBuffer {
        requireSize(size)
        return lend(slabs.take(size), size)
    }

    /**
     * Takes a buffer of [size] bytes, or returns null if none is free or other callers wait for that size. Throws the
     * exceptions of [take].
     */
    public fun tryTake(size: Long): RegisteredBuffer? {
        requireSize(size)
        return lend(slabs.tryTake(size) ?: return null, size)
    }

    /** Takes a buffer, with the size as `Int`. */
    public suspend fun take(size: Int): RegisteredBuffer = take(size.toLong())

    /** Takes a buffer, or returns null if none is free, with the size as `Int`. */
    public fun tryTake(size: Int): RegisteredBuffer? = tryTake(size.toLong())

    private fun requireSize(size: Long) {
        require(size > 0) { "a buffer can't have $size bytes; ask for 1 or more" }
        require(size <= maxBufferSize) {
            "$size bytes are above maxBufferSize($maxBufferSize) of the ${describe()}; take several buffers, " +
                "or raise it"
        }
    }

    private fun lend(
        chunk: Chunk,
        size: Long,
    ): RegisteredBuffer {
        val buffer = PooledBuffer(this, chunk, size)
        if (Diagnostics.areOn()) traces[buffer] = Throwable("$buffer, taken here by ${Thread.currentThread().name}")
        return buffer
    }

    internal fun giveBack(
        buffer: PooledBuffer,
        chunk: Chunk,
    ) {
        if (!traces.isEmpty()) traces.remove(buffer)
        slabs.giveBack(chunk)
    }

    /**
     * Ends all waits with an IllegalStateException and frees the memory: at once, or when the last lent buffer has come
     * back. A second call does nothing. Closing the protection domain closes the pool, too, and frees the memory at
     * once.
     *
     * @throws IllegalStateException if buffers are lent; the message has their number. The suppressed exceptions show
     *   where each was taken, if [Diagnostics] were on at that time. The pool is closed nevertheless.
     */
    override fun close() {
        forgetAtDomain.run() // a domain can live for longer than many pools
        val out = slabs.close("the ${describe()} is closed")
        if (out == 0) return
        val hint = if (Diagnostics.areOn()) "" else " (set -Dkverbs.diagnostics=true to see where they were taken)"
        val leak =
            IllegalStateException(
                "$out buffers of the ${describe()} weren't closed before it; close them, or use { }$hint",
            )
        traces.values.forEach(leak::addSuppressed)
        throw leak
    }

    /** Refuses a channel of another domain: the device would refuse the buffers to its queue pair and end it. */
    internal fun requireDomain(users: ProtectionDomain) {
        require(users.sharesMemoryWith(pd)) {
            "the ${describe()} belongs to another ${pd.describe()} than the message channel, which is in a " +
                "${users.describe()}: make the pool from the channel's, " +
                "or the channel in the pool's (for connections: sharedDomain())"
        }
    }

    internal fun describe(): String = "buffer pool on ${pd.context().device().name()}"

    /** Names the device, and the number of buffers taken, bytes available and callers waiting. */
    override fun toString(): String = "${describe()}: $taken taken, $available bytes available, $waiting waiting"
}

/**
 * Creates a pool of registered buffers: `pd.bufferPool { maxBytes(16.MiB); maxBufferSize(64.KiB) }`. The pool registers
 * memory when callers need it.
 *
 * @throws IllegalArgumentException if two settings exclude each other; the message names them
 */
public fun ProtectionDomain.bufferPool(block: BufferPoolBuilder.() -> Unit = {}): BufferPool =
    BufferPoolBuilder().apply(block).build(this)
