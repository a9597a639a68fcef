package org.kverbs.dsl

import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import org.kverbs.RemoteMemory

/** The key for this side's scatter and gather entries. */
public val MemoryRegion.lkey: Lkey get() = Lkey(lkey())

/** The key that lets a peer reach it. */
public val MemoryRegion.rkey: Rkey get() = Rkey(rkey())

/** The key that lets this side reach it. */
public val RemoteMemory.rkey: Rkey get() = Rkey(rkey())

/**
 * A part of the region to send from or receive into: `region[128, 64]`. Make it once and use it often.
 *
 * @param offset bytes from the start
 * @param length bytes
 * @throws IndexOutOfBoundsException if it reaches beyond the region
 */
public operator fun MemoryRegion.get(
    offset: Long,
    length: Long,
): MemorySlice = slice(offset, length)
