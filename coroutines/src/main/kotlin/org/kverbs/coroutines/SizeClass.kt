package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation

/**
 * The chunks of 2^[bits] bytes: the slabs that are cut for them and who waits for one. Guarded by the lock of its
 * [Slabs].
 */
internal class SizeClass(
    val bits: Int,
    slabBytes: Long,
) {
    class Waiter(
        val turn: Long,
        val sizeClass: SizeClass,
        val continuation: CancellableContinuation<Chunk>,
    )

    val chunksOfSlab: Int = (slabBytes shr bits).toInt()

    /** Slabs with some chunks lent and some not, draining ones excepted. */
    val partial = SlabList()

    /** Slabs of which nothing is lent. */
    val idle = SlabList()

    /** In the order of asking. */
    val waiters = LinkedHashSet<Waiter>()

    /** When the first of them began to wait; never, if there is none. */
    val firstTurn: Long get() = if (waiters.isEmpty()) Long.MAX_VALUE else waiters.first.turn

    /** Slabs that are cut for it, draining ones excepted. */
    var slabs = 0

    /** Somebody waits, and nothing that is lent will come back to this class. */
    val isStarved: Boolean get() = slabs == 0 && waiters.isNotEmpty()

    /** Lends a chunk of a slab that is cut for it. */
    fun lend(): Chunk? {
        val slab = partial.first ?: idle.first ?: return null
        if (slab.lent == 0) {
            idle.remove(slab)
            partial.add(slab)
        }
        val chunk = slab.lend()
        if (slab.isFull) partial.remove(slab)
        return chunk
    }
}

/** Slabs linked by their own fields; the last that was added is the first. */
internal class SlabList {
    var first: Slab? = null
        private set

    fun add(slab: Slab) {
        slab.next = first
        first?.previous = slab
        first = slab
    }

    fun remove(slab: Slab) {
        if (first === slab) first = slab.next else slab.previous!!.next = slab.next
        slab.next?.previous = slab.previous
        slab.next = null
        slab.previous = null
    }
}
