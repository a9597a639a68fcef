package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import org.kverbs.internal.jfr.FlightRecords

/**
 * The chunks of 2^[bits] bytes: the slabs that are cut into them, and the callers that wait for one. The lock of its
 * [Slabs] guards it.
 */
internal class SizeClass(
    val bits: Int,
    slabBytes: Long,
) {
    class Waiter(
        val turn: Long,
        val sizeClass: SizeClass,
        val continuation: CancellableContinuation<Chunk>,
    ) {
        private val measured = FlightRecords.beginWait()

        /** Records the wait for Flight Recorder if it was slow. */
        fun ended() {
            measured?.end("buffer", sizeClass::toString)
        }
    }

    val chunksOfSlab: Int = (slabBytes shr bits).toInt()

    /** Slabs with some chunks lent and some free, without draining ones. */
    val partial = SlabList()

    /** Slabs without a lent chunk. */
    val idle = SlabList()

    /** The waiting callers, oldest first. */
    val waiters = LinkedHashSet<Waiter>()

    /** The turn of the first waiting caller; Long.MAX_VALUE if there is none. */
    val firstTurn: Long get() = if (waiters.isEmpty()) Long.MAX_VALUE else waiters.first.turn

    /** Number of slabs that are cut for this class, without draining ones. */
    var slabs = 0

    /** True if a caller waits and no lent chunk will come back to this class. */
    val isStarved: Boolean get() = slabs == 0 && waiters.isNotEmpty()

    override fun toString(): String = "buffers of ${1L shl bits} bytes"

    /** Lends a chunk of a slab that is cut for this class. */
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

/** A list of slabs, linked by their own fields; the slab that was added last is the first. */
internal class SlabList {
    var first: Slab? = null
        private set

    fun add(slab: Slab) {
        slab.next = first
        first?.previous = slab
        first = slab
    }

    fun remove(slab: Slab) {
        val previous = slab.previous
        if (previous == null) first = slab.next else previous.next = slab.next
        slab.next?.previous = slab.previous
        slab.next = null
        slab.previous = null
    }
}
