package org.kverbs.dsl

import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice

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

/** The same with both numbers as `Int`: `region[i * size, size]`. */
public operator fun MemoryRegion.get(
    offset: Int,
    length: Int,
): MemorySlice = slice(offset.toLong(), length.toLong())

/** The same with an `Int` for the offset. */
public operator fun MemoryRegion.get(
    offset: Int,
    length: Long,
): MemorySlice = slice(offset.toLong(), length)

/** The same with an `Int` for the length. */
public operator fun MemoryRegion.get(
    offset: Long,
    length: Int,
): MemorySlice = slice(offset, length.toLong())
