package org.kverbs.coroutines

import java.util.concurrent.atomic.AtomicReferenceArray

/** Maps numbers to values; a lookup takes no lock and allocates nothing. Any thread can call. */
internal class NumberMap<T : Any> {
    private class Entry<T>(
        val number: Int,
        val value: T,
        val next: Entry<T>?,
    )

    @Volatile
    private var table = AtomicReferenceArray<Entry<T>>(SMALLEST)

    @Volatile
    var size = 0
        private set

    operator fun get(number: Int): T? {
        val now = table
        var entry = now[bucket(number, now)]
        while (entry != null) {
            if (entry.number == number) return entry.value
            entry = entry.next
        }
        return null
    }

    /** Adds a value. A lookup finds the newest value of a number. */
    @Synchronized
    operator fun set(
        number: Int,
        value: T,
    ) {
        if (size == table.length()) table = grown()
        add(table, number, value)
        size++
    }

    private fun grown(): AtomicReferenceArray<Entry<T>> {
        val larger = AtomicReferenceArray<Entry<T>>(2 * table.length())
        forEachEntry { add(larger, it.number, it.value) }
        return larger
    }

    private fun add(
        to: AtomicReferenceArray<Entry<T>>,
        number: Int,
        value: T,
    ) {
        val bucket = bucket(number, to)
        to[bucket] = Entry(number, value, to[bucket])
    }

    /** Removes this value of the number. */
    @Synchronized
    fun remove(
        number: Int,
        value: T,
    ) {
        val bucket = bucket(number, table)
        var kept: Entry<T>? = null
        var entry = table[bucket]
        var found = false
        while (entry != null) {
            if (entry.number == number && entry.value === value) {
                found = true
            } else {
                kept = Entry(entry.number, entry.value, kept)
            }
            entry = entry.next
        }
        if (found) {
            table[bucket] = kept
            size--
        }
    }

    /** Returns all values at this moment. */
    @Synchronized
    fun values(): List<T> = buildList { forEachEntry { add(it.value) } }

    private inline fun forEachEntry(action: (Entry<T>) -> Unit) {
        for (bucket in 0 until table.length()) {
            var entry = table[bucket]
            while (entry != null) {
                action(entry)
                entry = entry.next
            }
        }
    }

    private fun bucket(
        number: Int,
        of: AtomicReferenceArray<Entry<T>>,
    ) = number and of.length() - 1

    private companion object {
        const val SMALLEST = 16
    }
}
