package org.kverbs

import org.kverbs.internal.WorkRequestArena
import org.kverbs.internal.abi.IbvRecvWr
import org.kverbs.internal.abi.IbvSendWr
import org.kverbs.internal.abi.IbvSge
import org.kverbs.internal.memory.Memory
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_INT
import java.lang.foreign.ValueLayout.JAVA_LONG

/** A scatter and gather entry. */
internal data class Entry(
    val address: Long,
    val length: Int,
    val lkey: Int,
)

/** A work request as a driver finds it by following the links from the first. */
internal class FoundRequest(
    val structure: MemorySegment,
    sgList: Int,
    numSge: Int,
) {
    val entries: List<Entry> =
        List(structure.get(JAVA_INT, numSge.toLong())) {
            val entry = Memory.at(structure.get(JAVA_LONG, sgList.toLong()) + it * IbvSge.SIZE, IbvSge.SIZE.toLong())
            Entry(
                entry.get(JAVA_LONG, IbvSge.ADDR.toLong()),
                entry.get(JAVA_INT, IbvSge.LENGTH.toLong()),
                entry.get(JAVA_INT, IbvSge.LKEY.toLong()),
            )
        }

    fun long(offset: Int): Long = structure.get(JAVA_LONG, offset.toLong())

    fun int(offset: Int): Int = structure.get(JAVA_INT, offset.toLong())

    val id: Long get() = long(0)
}

private fun follow(
    arena: WorkRequestArena,
    size: Int,
    next: Int,
    sgList: Int,
    numSge: Int,
): List<FoundRequest> =
    generateSequence(
        if (arena.count() == 0) {
            0
        } else {
            arena.first()
        },
    ) { Memory.at(it, size.toLong()).get(JAVA_LONG, next.toLong()) }
        .takeWhile { it != 0L }
        .take(arena.count() + 1) // a circular list is reported as too long and not followed without end
        .map { FoundRequest(Memory.at(it, size.toLong()), sgList, numSge) }
        .toList()

internal fun SendRequests.follow(): List<FoundRequest> =
    follow(requests, IbvSendWr.SIZE, IbvSendWr.NEXT, IbvSendWr.SG_LIST, IbvSendWr.NUM_SGE)

internal fun ReceiveRequests.follow(): List<FoundRequest> =
    follow(requests, IbvRecvWr.SIZE, IbvRecvWr.NEXT, IbvRecvWr.SG_LIST, IbvRecvWr.NUM_SGE)
