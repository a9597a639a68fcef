package org.kverbs.coroutines

import org.kverbs.Diagnostics
import org.kverbs.ProtectionDomain
import java.util.concurrent.ConcurrentHashMap

/**
 * Registered memory to lend: `pool.take(4096).use { qp.send(it) }`. Registering memory takes long, taking a buffer
 * doesn't.
 *
 * It registers slabs as they are needed, up to `maxBytes`, and cuts each into buffers of one power-of-two size; a slab
 * of which nothing is lent is cut anew for another size when that has run out. A slab is registered by the one who
 * needs it first, and others who take at that moment wait for it.
 *
 * **Ownership.** A buffer belongs to who took it, until [RegisteredBuffer.close]. It comes with the bytes of its last
 * use. Pinned by work requests it comes back when the last of them completes. Nobody gives a forgotten buffer back:
 * [close] counts them, and with [Diagnostics] on says where each was taken.
 *
 * **Threads.** All of it is for any thread.
 */
public class BufferPool internal constructor(
    private val pd: ProtectionDomain,
    private val slabs: Slabs,
    internal val maxBuffer: Long,
) : AutoCloseable {
    /** Buffers that were taken with diagnostics on and aren't back yet. */
    private val traces = ConcurrentHashMap<PooledBuffer, Throwable>()

    init {
        pd.whenClosed { slabs.close("the protection domain of the ${describe()} was closed") }
    }

    /** Bytes that aren't lent, registered or not. A buffer counts with its size rounded up to a power of two. */
    public val available: Long get() = slabs.available

    /** Buffers that are lent: not closed, or still in use by a work request. */
    public val taken: Int get() = slabs.taken

    /** Callers that wait for a buffer. */
    public val waiting: Int get() = slabs.waiting

    /** All its numbers, of one moment. For monitoring: it looks at every slab, while nobody takes or gives back. */
    public val stats: BufferPoolStats get() = slabs.stats

    /**
     * Takes a buffer of [size] bytes, and suspends while there is none: in the order of asking among those of one power
     * of two. A size that has no slab gets the next that can be emptied, so small buffers don't starve a large one.
     *
     * Cancellation ends the wait and takes nothing: a buffer that comes at that moment goes to the next. In a
     * `withTimeout` use the buffer within its block, since what the block returns is lost if the time is up just then.
     *
     * @throws IllegalArgumentException if [size] isn't above 0 or is above the pool's `maxBuffer`
     * @throws IllegalStateException if the pool or its protection domain is closed, now or during the wait
     * @throws org.kverbs.RdmaSystemException if a slab can't be registered; ENOMEM names the memlock limit
     */
    public suspend fun take(size: Long): RegisteredBuffer {
        requireSize(size)
        return lend(slabs.take(size), size)
    }

    /**
     * Takes a buffer of [size] bytes if there is one and nobody waits for one of its size; else null. Throws what
     * [take] throws.
     */
    public fun tryTake(size: Long): RegisteredBuffer? {
        requireSize(size)
        return lend(slabs.tryTake(size) ?: return null, size)
    }

    private fun requireSize(size: Long) {
        require(size > 0) { "a buffer of $size bytes; ask for 1 or more" }
        require(size <= maxBuffer) {
            "$size bytes are above maxBuffer($maxBuffer) of the ${describe()}; take several buffers, or raise it"
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
     * back. Nothing at the second call. The protection domain's close does the same, and takes the memory away.
     *
     * @throws IllegalStateException if buffers are lent, with their number; its suppressed exceptions show where
     *   each was taken, if [Diagnostics] were on then. The pool is closed nevertheless.
     */
    override fun close() {
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

    /** The device refuses its buffers to queue pairs of another domain, and that ends them. */
    internal fun requireDomain(users: ProtectionDomain) {
        require(users === pd) {
            "the ${describe()} belongs to another ${pd.describe()} than the message channel, which is in a " +
                "${users.describe()}: make the pool from the channel's, " +
                "or the channel in the pool's (for connections: sharedDomain())"
        }
    }

    internal fun describe(): String = "buffer pool on ${pd.context().device().name()}"

    /** Names the device, and says what is taken, what is available, and how many wait. */
    override fun toString(): String = "${describe()}: $taken taken, $available bytes available, $waiting waiting"
}

/**
 * Makes a pool of registered buffers: `pd.bufferPool { maxBytes(16.MiB); maxBuffer(64.KiB) }`. It registers nothing
 * yet.
 *
 * @throws IllegalArgumentException if two settings exclude each other; names them
 */
public fun ProtectionDomain.bufferPool(block: BufferPoolBuilder.() -> Unit = {}): BufferPool =
    BufferPoolBuilder().apply(block).build(this)
