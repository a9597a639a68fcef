package org.kverbs.coroutines

import org.kverbs.MemoryRegion

/**
 * Holds the registered memory in which the messages of a receive queue arrive before their receivers copy them. It
 * registers memory when receives need it, at most twice as much as was posted at once, and frees it at the end. Any
 * thread can call.
 */
internal class ReceiveStage(
    private val register: (Long) -> MemoryRegion,
) {
    /** The chunks of one size, a power of two. */
    private class Sizes(
        val bits: Int,
    ) {
        var free: Chunk? = null
        var count = 0
    }

    private val sizes = arrayOfNulls<Sizes>(MOST_BITS + 1)
    private val regions = ArrayList<MemoryRegion>()
    private var closed = false

    /** Takes a chunk of at least [length] bytes; prefers the chunk that came back last. */
    @Synchronized
    fun take(length: Long): Chunk {
        check(!closed) { "the receive queue was closed" }
        val bits = maxOf(Long.SIZE_BITS - (maxOf(length, 1) - 1).countLeadingZeroBits(), LEAST_BITS)
        val size = sizes[bits] ?: Sizes(bits).also { sizes[bits] = it }
        val chunk = size.free ?: grow(size)
        size.free = chunk.next
        chunk.next = null
        return chunk
    }

    /** Doubles the number of chunks, so that there are few regions; registers large chunks one by one. */
    private fun grow(size: Sizes): Chunk {
        val bytes = 1L shl size.bits
        val count = minOf(maxOf(size.count.toLong(), 1), maxOf(MOST_AT_ONCE / bytes, 1)).toInt()
        val slab = Slab(regions.size, register(count * bytes))
        regions.add(slab.region)
        size.count += count
        var first = Chunk(slab, (count - 1) * bytes, bytes)
        for (i in count - 2 downTo 0) first = Chunk(slab, i * bytes, bytes).also { it.next = first }
        return first
    }

    @Synchronized
    fun giveBack(chunk: Chunk) {
        val size = checkNotNull(sizes[chunk.size.countTrailingZeroBits()])
        chunk.next = size.free
        size.free = chunk
    }

    /** Frees the memory, as the queue is gone. */
    fun close() {
        val gone = synchronized(this) { regions.toList().also { regions.clear() }.also { closed = true } }
        closeAll(*gone.toTypedArray())
    }

    private companion object {
        const val LEAST_BITS = 6
        const val MOST_BITS = 32
        const val MOST_AT_ONCE = 1L shl 20
    }
}
