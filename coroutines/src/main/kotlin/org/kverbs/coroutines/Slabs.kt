package org.kverbs.coroutines

import kotlinx.coroutines.suspendCancellableCoroutine
import org.kverbs.MemoryRegion
import kotlin.coroutines.resumeWithException

/**
 * Lends chunks of slabs; a caller that finds none waits. Any thread; one short lock, under which no coroutine is
 * resumed.
 *
 * The caller that has waited longest in a class gets its next chunk, and none overtakes it. A slab of which nothing is
 * lent may be cut for any class. So that a large request isn't starved by small ones that keep every slab in use, a
 * class with waiters and no slab has one drained, unless those of that slab's class have waited longer: nothing more is
 * lent of it, and when all has come back it goes to the starved class that waits longest. A class that has a slab has
 * no claim on those of others, so that who holds a large buffer still gets a small one while another waits for a large
 * one.
 */
internal class Slabs(
    private val capacity: Int,
    private val slabBytes: Long,
    private val minBits: Int,
    maxBits: Int,
    private val register: () -> MemoryRegion,
) {
    private val lock = Any()
    private val slabs = ArrayList<Slab>()
    private val classes = Array(maxBits - minBits + 1) { SizeClass(minBits + it, slabBytes) }
    private var turns = 0L
    private var draining = 0
    private var waiters = 0
    private var lent = 0
    private var lentBytes = 0L
    private var failure: String? = null

    /** Chunks that are lent. */
    val taken: Int get() = synchronized(lock) { lent }

    /** Bytes that are not lent, registered or not. */
    val available: Long get() = synchronized(lock) { capacity * slabBytes - lentBytes }

    /** Those who wait for a chunk. */
    val waiting: Int get() = synchronized(lock) { waiters }

    val stats: BufferPoolStats
        get() =
            synchronized(lock) {
                val sizes = classes.map(::statsOf)
                BufferPoolStats(capacity * slabBytes, slabs.size * slabBytes, lentBytes, lent, waiters, sizes)
            }

    private fun statsOf(sizeClass: SizeClass): BufferSizeStats {
        val cut = slabs.filter { it.owner === sizeClass }
        val room = cut.size.toLong() * sizeClass.chunksOfSlab
        return BufferSizeStats(1L shl sizeClass.bits, room, cut.sumOf { it.lent }, sizeClass.waiters.size)
    }

    private fun classOf(size: Long): SizeClass =
        classes[maxOf(Long.SIZE_BITS - (size - 1).countLeadingZeroBits() - minBits, 0)]

    /** A chunk of at least [size] bytes, or null if there is none now or others wait for one. */
    fun tryTake(size: Long): Chunk? = synchronized(lock) { lendTo(classOf(size)) }

    /** The same, but waits. Cancelled, it takes none. */
    suspend fun take(size: Long): Chunk = tryTake(size) ?: await(classOf(size))

    private suspend fun await(sizeClass: SizeClass): Chunk =
        suspendCancellableCoroutine { continuation ->
            val resumptions = Resumptions()
            var waiter: SizeClass.Waiter? = null
            try {
                synchronized(lock) {
                    val chunk = lendTo(sizeClass)
                    if (chunk == null) {
                        waiter = SizeClass.Waiter(turns++, sizeClass, continuation).also { sizeClass.waiters.add(it) }
                        waiters++
                        serve(resumptions)
                    } else {
                        resumptions.add(continuation, chunk)
                    }
                }
            } catch (e: RuntimeException) {
                continuation.resumeWithException(e)
            }
            waiter?.let { continuation.invokeOnCancellation { _ -> forget(it) } }
            resumptions.run(::giveBack)
        }

    private fun forget(waiter: SizeClass.Waiter) {
        val resumptions = Resumptions()
        synchronized(lock) {
            if (waiter.sizeClass.waiters.remove(waiter)) {
                waiters--
                serve(resumptions) // a slab may have been drained for it alone
            }
        }
        resumptions.run(::giveBack)
    }

    /** Takes a chunk back, from whatever thread. The last one to come back to closed slabs closes their regions. */
    fun giveBack(chunk: Chunk) {
        var resumptions: Resumptions? = null
        val closing: List<MemoryRegion>
        synchronized(lock) {
            lent--
            lentBytes -= chunk.size
            putBack(chunk)
            if (waiters != 0) resumptions = Resumptions().also { serve(it) }
            closing = regionsToClose()
        }
        resumptions?.run(::giveBack)
        closing.forEach { it.close() }
    }

    private fun putBack(chunk: Chunk) {
        val slab = chunk.slab
        val owner = slab.owner
        val isListed = !slab.isDraining && !slab.isFull
        slab.putBack(chunk)
        if (slab.lent == 0) {
            if (slab.isDraining) endDraining(slab)
            if (isListed) owner.partial.remove(slab)
            owner.idle.add(slab)
        } else if (!isListed && !slab.isDraining) {
            owner.partial.add(slab)
        }
    }

    /** For one who asks now, not for one who has waited. */
    private fun lendTo(sizeClass: SizeClass): Chunk? {
        failure?.let { throw IllegalStateException(it) }
        if (sizeClass.waiters.isNotEmpty()) return null
        return lend(sizeClass) ?: if (addSlabTo(sizeClass)) lend(sizeClass) else null
    }

    private fun lend(sizeClass: SizeClass): Chunk? {
        val chunk = sizeClass.lend() ?: return null
        lent++
        lentBytes += chunk.size
        return chunk
    }

    /** A new slab rather than one cut anew, so that classes that are used in turn each keep theirs. */
    private fun addSlabTo(sizeClass: SizeClass): Boolean {
        val slab =
            if (slabs.size < capacity) {
                Slab(slabs.size, register()).also { slabs.add(it) }
            } else {
                idleSlab()?.also {
                    it.owner.idle.remove(it)
                    it.owner.slabs--
                } ?: return false
            }
        slab.cutFor(sizeClass)
        sizeClass.slabs++
        sizeClass.idle.add(slab)
        return true
    }

    private fun idleSlab(): Slab? {
        for (sizeClass in classes) sizeClass.idle.first?.let { return it }
        return null
    }

    /** Gives waiters all there is for them, and has as many slabs drained as there are starved classes. */
    private fun serve(resumptions: Resumptions) {
        do {
            for (sizeClass in classes) serve(sizeClass, resumptions)
            while (true) {
                val next = classes.filter { it.waiters.isNotEmpty() }.minWithOrNull(STARVED_FIRST) ?: break
                if (next.idle.first == null && !addSlabTo(next)) break
                grant(next, resumptions)
                serve(next, resumptions)
            }
        } while (endNeedlessDraining())
        drainForStarved()
    }

    /** From slabs in use only: who gets an idle one is decided among all classes. */
    private fun serve(
        sizeClass: SizeClass,
        resumptions: Resumptions,
    ) {
        while (sizeClass.waiters.isNotEmpty() && sizeClass.partial.first != null) grant(sizeClass, resumptions)
    }

    private fun grant(
        sizeClass: SizeClass,
        resumptions: Resumptions,
    ) {
        waiters--
        resumptions.add(sizeClass.waiters.removeFirst().continuation, checkNotNull(lend(sizeClass)))
    }

    /**
     * Ends what is drained for nobody, or from a class that waits longer than all for whom it could be. False if there
     * was none.
     */
    private fun endNeedlessDraining(): Boolean {
        if (draining == 0) return false
        val starved = classes.filter { it.isStarved }
        val slab =
            slabs.firstOrNull { slab ->
                slab.isDraining &&
                    (
                        draining > starved.size ||
                            starved.all {
                                it === slab.owner || it.firstTurn > slab.owner.firstTurn
                            }
                    )
            } ?: return false
        endDraining(slab)
        if (!slab.isFull) slab.owner.partial.add(slab)
        return true
    }

    /**
     * From those who wait longest on: one slab for each, the one with the least lent, of a class in which nobody waits
     * longer.
     */
    private fun drainForStarved() {
        val starved = classes.filter { it.isStarved }.sortedBy { it.firstTurn }
        for (sizeClass in starved.drop(draining)) {
            val slab =
                slabs
                    .filter { !it.isDraining && it.owner.firstTurn > sizeClass.firstTurn }
                    .minByOrNull { it.lent.toLong() shl it.owner.bits } ?: continue
            if (!slab.isFull) slab.owner.partial.remove(slab)
            slab.owner.slabs--
            slab.isDraining = true
            draining++
        }
    }

    private fun endDraining(slab: Slab) {
        slab.isDraining = false
        slab.owner.slabs++
        draining--
    }

    /**
     * Refuses all that ask from now on and all that wait, with [message]; nothing the second time.
     *
     * @return how many chunks are lent
     */
    fun close(message: String): Int {
        val ended: List<SizeClass.Waiter>
        val closing: List<MemoryRegion>
        val out: Int
        synchronized(lock) {
            if (failure != null) return 0
            failure = message
            ended = classes.flatMap { it.waiters }
            classes.forEach { it.waiters.clear() }
            waiters = 0
            out = lent
            closing = regionsToClose()
        }
        ended.forEach { it.continuation.fail(IllegalStateException(message)) }
        closing.forEach { it.close() }
        return out
    }

    private fun regionsToClose(): List<MemoryRegion> =
        if (failure == null || lent != 0) {
            emptyList()
        } else {
            slabs.map { it.region }
        }

    private companion object {
        val STARVED_FIRST = compareBy<SizeClass>({ !it.isStarved }, { it.firstTurn })
    }
}
