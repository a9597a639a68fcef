package org.kverbs.coroutines

import kotlinx.coroutines.suspendCancellableCoroutine
import org.kverbs.MemoryRegion
import kotlin.coroutines.resumeWithException

/**
 * Lends chunks of slabs; a caller that finds none waits. Any thread can call. No coroutine is resumed under the lock.
 *
 * The caller that has waited longest in a class gets its next chunk, and no other overtakes it. A slab without a lent
 * chunk can be cut for any class. Small requests that keep every slab in use must not starve a large one: therefore a
 * class with waiters and no slab drains the slab of another class, unless the waiters of that class have waited longer.
 * No more chunks of a draining slab are lent, and when all have come back it goes to the starved class that has waited
 * longest. A class with a slab has no claim on the slabs of other classes, so that a caller with a large buffer still
 * gets a small one while another caller waits for a large one.
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

    /** Number of lent chunks. */
    val taken: Int get() = synchronized(lock) { lent }

    /** Bytes that are not lent, registered or not. */
    val available: Long get() = synchronized(lock) { capacity * slabBytes - lentBytes }

    /** Number of callers that wait for a chunk. */
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

    /** Takes a chunk of at least [size] bytes; null if there is none now or other callers wait for one. */
    fun tryTake(size: Long): Chunk? = synchronized(lock) { lendTo(classOf(size)) }

    /** Takes a chunk of at least [size] bytes; suspends until there is one. A cancelled caller takes none. */
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
            } catch (e: Throwable) {
                waiter?.let(::forget) // nobody would take its chunk
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
                waiter.ended()
                serve(resumptions) // perhaps a slab was drained for this waiter alone
            }
        }
        resumptions.run(::giveBack)
    }

    /** Takes a chunk back, on any thread. The last chunk that comes back to closed slabs closes their regions. */
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
        closeAll(*closing.toTypedArray())
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

    /** Lends a chunk to a new caller, if no other waits. */
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

    /**
     * Adds a slab to a class. Prefers a new slab to an idle one of another class, so that classes that are used in turn
     * each keep theirs.
     */
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

    /** Gives free chunks to the waiters, and drains as many slabs as there are starved classes. */
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

    /** Serves the waiters of one class from slabs in use. The idle slabs are divided among all classes. */
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
        val waiter = sizeClass.waiters.removeFirst().also { it.ended() }
        resumptions.add(waiter.continuation, checkNotNull(lend(sizeClass)))
    }

    /**
     * Ends the draining of a slab that no class needs, or whose own class waits longer than every class that could get
     * it. False if there was none.
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
     * Drains one slab for each starved class, beginning with the class that waits longest: the slab with the fewest
     * lent bytes of a class in which no caller waits longer.
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
     * Fails all waiting callers and all later ones with [message]. A second call does nothing.
     *
     * @return the number of lent chunks
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
        ended.forEach {
            it.ended()
            it.continuation.fail(IllegalStateException(message))
        }
        closeAll(*closing.toTypedArray())
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
