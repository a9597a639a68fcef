package org.kverbs.dsl

import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import java.lang.foreign.MemorySegment

/**
 * Returns a part of the region to send from or receive into: `region[128, 64]`. Make a slice once and use it often.
 *
 * @param offset the first byte, counted from the start of the region
 * @param length the number of bytes
 * @throws IndexOutOfBoundsException if the part reaches beyond the region
 */
public operator fun MemoryRegion.get(
    offset: Long,
    length: Long,
): MemorySlice = slice(offset, length)

/** Returns a part of the region, with both numbers as `Int`: `region[i * size, size]`. */
public operator fun MemoryRegion.get(
    offset: Int,
    length: Int,
): MemorySlice = slice(offset.toLong(), length.toLong())

/** Returns a part of the region, with the offset as `Int`. */
public operator fun MemoryRegion.get(
    offset: Int,
    length: Long,
): MemorySlice = slice(offset.toLong(), length)

/** Returns a part of the region, with the length as `Int`. */
public operator fun MemoryRegion.get(
    offset: Long,
    length: Int,
): MemorySlice = slice(offset, length.toLong())

/** Returns the slice that is a part of the region's memory: `region[segment]`; see [MemoryRegion.slice]. */
public operator fun MemoryRegion.get(part: MemorySegment): MemorySlice = slice(part)
