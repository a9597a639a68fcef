package org.kverbs.coroutines

import kotlinx.coroutines.Job
import kotlinx.coroutines.ThreadContextElement
import java.util.concurrent.atomic.AtomicReferenceArray
import kotlin.coroutines.ContinuationInterceptor
import kotlin.coroutines.CoroutineContext

/**
 * Keeps a [PollingWait] for each of the coroutines that wait for the requests of a queue on the polling thread, up to
 * some hundreds.
 *
 * @param capacity the number of requests that can be under way
 */
internal class PollingWaits(
    private val dispatcher: CompletionDispatcher,
    capacity: Int,
) {
    private val mostEntries = (2 * SendSlots.count(capacity)).coerceIn(WAYS, MOST)

    @Volatile
    private var table = Table(WAYS)

    @Volatile
    private var isClosed = false

    /** Number of coroutines that had no wait. Used by the polling thread only. */
    private var misses = 0

    /**
     * A hash table by the coroutines' contexts. A wait is in one of the [WAYS] entries from that of its hash on. Only
     * the polling thread adds waits; the thread that ends a job, or the queue, takes them out.
     */
    private class Table(
        val size: Int,
    ) {
        val waits = AtomicReferenceArray<PollingWait?>(size)

        /** The hash of the wait in each entry, so that a search reads no other waits. For the polling thread only. */
        private val hashes = IntArray(size)

        fun at(
            hash: Int,
            way: Int,
        ): Int = hash + way and size - 1

        fun find(
            context: CoroutineContext,
            hash: Int,
        ): PollingWait? {
            for (way in 0 until WAYS) {
                val at = at(hash, way)
                if (hashes[at] != hash) continue
                val wait = waits.getPlain(at)
                if (wait?.context === context) return wait
            }
            return null
        }

        fun hasRoom(hash: Int): Boolean = (0 until WAYS).any { waits[at(hash, it)] == null }

        /** False if there is no room. */
        fun add(
            wait: PollingWait,
            hash: Int,
        ): Boolean {
            val way = (0 until WAYS).firstOrNull { waits[at(hash, it)] == null } ?: return false
            hashes[at(hash, way)] = hash
            waits[at(hash, way)] = wait
            return true
        }

        fun remove(wait: PollingWait) {
            val hash = System.identityHashCode(wait.context)
            for (way in 0 until WAYS) if (waits.compareAndSet(at(hash, way), wait, null)) return
        }
    }

    /**
     * Returns the wait of the running coroutine. Null if it runs elsewhere than on the polling thread, which resumes it
     * without a task, if a coroutine with the same context waits already, if the coroutine is cancelled or has no job,
     * if its context has an element for threads, or if the queue is gone.
     *
     * Null also for most coroutines that have none yet: a wait costs as much memory as three CancellableContinuations,
     * and a coroutine that waits once or twice does better without.
     */
    fun of(context: CoroutineContext): PollingWait? {
        if (!dispatcher.isPolling) return null
        val hash = System.identityHashCode(context)
        val wait = table.find(context, hash)
        return when {
            wait != null -> if (wait.isFree) wait else null
            misses++ and SELDOM - 1 == 0 -> next(context, hash)
            else -> null
        }
    }

    private fun next(
        context: CoroutineContext,
        hash: Int,
    ): PollingWait? {
        val dispatcher = dispatcher.coroutineDispatcher
        if (isClosed || context[ContinuationInterceptor] !== dispatcher || hasThreadElement(context)) return null
        val job = context[Job] ?: return null // nothing tells of the end of the coroutine
        if (!makeRoom(hash)) return null
        val wait = PollingWait(context, job, dispatcher, this.dispatcher.loop) { table.remove(it) }
        val isKept = table.add(wait, hash)
        // The close or the end of the job can have come before the wait was kept, and not have found it.
        if (isKept && !isClosed && !wait.isOver) return wait
        table.remove(wait)
        wait.close()
        return null
    }

    /**
     * True if kotlinx.coroutines must tell an element when the coroutine runs. At the end of a `withContext` that has
     * brought the element it takes it from the thread only if a continuation of its own was resumed there. The element
     * that it adds to each coroutine for debugging names threads only.
     */
    private fun hasThreadElement(context: CoroutineContext) =
        context.fold(false) { has, element ->
            has || (element is ThreadContextElement<*> && element.javaClass.name != DEBUGGING)
        }

    /**
     * Grows the table if it has no room. If it can't, takes out a wait once in a while: if more coroutines wait in
     * turns than the table has entries, most of them go without, as each would find its wait taken out otherwise.
     */
    private fun makeRoom(hash: Int): Boolean {
        while (!table.hasRoom(hash)) {
            if (table.size >= mostEntries) return misses and RARELY - 1 == 1 && takeOut(hash)
            grow()
        }
        return true
    }

    private fun grow() {
        val old = table
        val grown = Table(2 * old.size)
        for (at in 0 until old.size) {
            val wait = old.waits[at] ?: continue
            if (!grown.add(wait, System.identityHashCode(wait.context))) wait.close()
        }
        table = grown
        // A thread that has ended a job or the queue meanwhile can have taken the wait out of the old table only. If it
        // reads the table after this line, it takes the wait out of the new one; otherwise its end is seen here.
        for (at in 0 until grown.size) grown.waits[at]?.let { if (it.isOver) grown.remove(it) }
        if (isClosed) close()
    }

    /** Takes out a wait that no coroutine uses now. False if all are in use. */
    private fun takeOut(hash: Int): Boolean {
        val table = table
        for (way in 0 until WAYS) {
            val at = table.at(hash, way)
            val wait = table.waits[at] ?: return true
            if (wait.isFree && table.waits.compareAndSet(at, wait, null)) {
                wait.close()
                return true
            }
        }
        return false
    }

    /** Takes out all waits, and keeps none from now on: the queue is gone. Any thread can call it. */
    fun close() {
        isClosed = true
        val waits = table.waits
        for (at in 0 until waits.length()) waits.getAndSet(at, null)?.close()
    }

    private companion object {
        const val WAYS = 8

        /** With more waits than fit into the cache a coroutine waits for longer than with a new object each time. */
        const val MOST = 1024
        const val SELDOM = 8
        const val RARELY = 512
        const val DEBUGGING = "kotlinx.coroutines.CoroutineId"
    }
}
