package org.kverbs.coroutines

import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import java.lang.foreign.MemorySegment

/**
 * One registered region, cut into chunks of one size class at a time. The lock of its [Slabs] guards everything but
 * [region].
 */
internal class Slab(
    val number: Int,
    val region: MemoryRegion,
) {
    lateinit var owner: SizeClass
    private var free: Chunk? = null
    private var cut = 0

    /** Number of lent chunks. */
    var lent = 0
        private set

    /** True if no more chunks are lent until all have come back, because a class without a slab waits for this one. */
    var isDraining = false

    /** The neighbours in the list of its class that contains this slab, if any. */
    var previous: Slab? = null
    var next: Slab? = null

    val isFull: Boolean get() = free == null && cut == owner.chunksOfSlab

    fun cutFor(sizeClass: SizeClass) {
        owner = sizeClass
        free = null
        cut = 0
    }

    fun lend(): Chunk {
        lent++
        val chunk = free ?: return Chunk(this, cut++.toLong() shl owner.bits, 1L shl owner.bits)
        free = chunk.next
        chunk.next = null
        return chunk
    }

    fun putBack(chunk: Chunk) {
        lent--
        chunk.next = free
        free = chunk
    }
}

/**
 * A piece of a slab; it lives until the slab is cut for another class. It keeps the views of its last length, so that a
 * caller with always the same length allocates none. Both views are immutable, and two threads that create one at once
 * create equal ones.
 */
internal class Chunk(
    val slab: Slab,
    val offset: Long,
    val size: Long,
) {
    var next: Chunk? = null
    private var segment: MemorySegment? = null
    private var slice: MemorySlice? = null

    fun memory(length: Long): MemorySegment {
        val known = segment
        if (known != null && known.byteSize() == length) return known
        return slab.region
            .memory()
            .asSlice(offset, length)
            .also { segment = it }
    }

    fun slice(length: Long): MemorySlice {
        val known = slice
        if (known != null && known.length() == length) return known
        return slab.region.slice(offset, length).also { slice = it }
    }
}
