package org.kverbs.management.transport

import org.kverbs.management.port.EndPort
import org.kverbs.structures.Lid
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeMark
import kotlin.time.TimeSource

/**
 * What a port's datagrams need of its tables, as it was a second ago at most: the kernel has a file for each partition
 * key, and there are up to 128 of them.
 *
 * A key that is not there is looked for anew at once. Any thread may ask.
 */
internal class PortTables(
    private val endPort: EndPort,
    private val clock: TimeSource = TimeSource.Monotonic,
) {
    private class Reading(
        val keys: Map<Int, Int>,
        val lmc: Int,
        val read: TimeMark,
    ) {
        fun index(key: Int): Int? = keys.entries.firstOrNull { it.value == key }?.key
    }

    @Volatile
    private var last: Reading? = null

    private fun recent(): Reading = last?.takeIf { it.read.elapsedNow() < MEMORY } ?: read()

    private fun read(): Reading {
        val now = clock.markNow()
        return Reading(endPort.partitionKeys, endPort.lmc, now).also { last = it }
    }

    /** The index of a partition; a port that is only a limited member of the default one talks by that key. */
    fun partition(key: Int): Int =
        recent().either(key) ?: read().either(key) ?: throw MadTransportException(
            "$endPort is not in the partition 0x${key.toString(16)}; its keys are " +
                endPort.partitionKeys.values.joinToString { "0x${it.toString(16)}" },
        )

    private fun Reading.either(key: Int): Int? = index(key) ?: index(key xor FULL_MEMBER)

    /** The key with an index, or null if the port has none there. */
    fun key(index: Int): Int? = recent().keys[index] ?: read().keys[index]

    /** Which of the port's LIDs [source] is. */
    fun pathBits(source: Lid): Int = source.value and (1 shl recent().lmc) - 1

    private companion object {
        private val MEMORY = 1.seconds
        private const val FULL_MEMBER = 0x8000
    }
}
