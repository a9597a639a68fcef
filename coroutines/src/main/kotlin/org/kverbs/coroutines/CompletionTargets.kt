package org.kverbs.coroutines

import org.kverbs.WorkCompletion
import java.util.concurrent.atomic.AtomicLong
import java.util.concurrent.atomic.AtomicReferenceArray

/**
 * Finds the targets of one dispatcher by an index in the ids of their requests. An index is reused with another
 * generation, so that a completion that outlives its queue finds no target.
 */
internal class CompletionTargets {
    private class Entry(
        val generation: Int,
        val target: CompletionTarget?,
    )

    @Volatile
    private var entries = AtomicReferenceArray<Entry>(16)
    private val free = ArrayDeque<Int>()
    private var used = 0
    private val taken = AtomicLong()

    /** Number of completions that were taken from the queues. */
    val takenCount: Long get() = taken.acquire

    /** Counts completions. Only the polling thread calls it, before the targets get them. */
    fun took(completions: Int): Unit = taken.add(completions)

    /** Adds a target. Returns the upper half of its requests' ids. */
    @Synchronized
    fun add(target: CompletionTarget): Int {
        val index = free.removeFirstOrNull() ?: next()
        val generation = (entries[index]?.generation ?: 0) + 1 and GENERATIONS - 1
        entries[index] = Entry(generation, target)
        return generation shl INDEX_BITS or index
    }

    private fun next(): Int {
        check(used <= INDEX_MASK) { "a dispatcher serves at most ${INDEX_MASK + 1} queues; make another one" }
        if (used == entries.length()) {
            val grown = AtomicReferenceArray<Entry>(2 * used)
            repeat(used) { grown[it] = entries[it] }
            entries = grown
        }
        return used++
    }

    /**
     * Removes the target that [add] returned this key for. The index is reused last, so that its generations last long.
     */
    @Synchronized
    fun remove(key: Int) {
        val index = key and INDEX_MASK
        entries[index] = Entry(key ushr INDEX_BITS, null)
        free.addLast(index)
    }

    /** Gives a completion to its target. Only the polling thread calls it. */
    fun complete(completion: WorkCompletion) {
        val id = completion.workRequestId()
        val key = (id ushr 32).toInt()
        val table = entries
        val index = key and INDEX_MASK
        if (index >= table.length()) return
        val entry = table[index] ?: return
        val target = if (entry.generation == key ushr INDEX_BITS) entry.target else null
        try {
            target?.complete(id.toInt(), completion)
        } catch (e: Throwable) {
            // Fail the target, or its callers wait for ever for this completion. The other targets go on.
            reportUncaught(e)
            target?.fail(IllegalStateException("a completion could not be handled: $e", e))
        }
    }

    private companion object {
        const val INDEX_BITS = 20
        const val INDEX_MASK = (1 shl INDEX_BITS) - 1
        const val GENERATIONS = 1 shl 32 - INDEX_BITS
    }
}
