package org.kverbs.coroutines

import org.kverbs.AccessFlag
import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import java.lang.foreign.MemorySegment

/**
 * Registered memory for one purpose of one channel. It is registered when it is first needed, in powers of two, and
 * then used again: messages of a steady size register nothing. Any thread.
 *
 * @param kept how many bytes stay registered while nobody uses them
 * @param clears whether what stands behind the lent bytes in their region is cleared
 */
internal class RegionCache(
    private val pd: ProtectionDomain,
    private val kept: Long,
    private vararg val access: AccessFlag,
    private val clears: Boolean = false,
) : AutoCloseable {
    private val lock = Any()
    private val free = ArrayList<MemoryRegion>()
    private var freeBytes = 0L
    private var closed = false

    /**
     * Lends [length] bytes, 1 or more, until the buffer is closed and no work request uses it. The bytes of the last
     * use stand in it.
     */
    fun take(length: Long): RegisteredBuffer {
        val size = maxOf(SMALLEST, powerOfTwo(length))
        val region = takeFree(size) ?: pd.memoryRegion(size, *access)
        if (clears) region.memory().asSlice(length).fill(0)
        return Loan(region, length)
    }

    private fun takeFree(size: Long): MemoryRegion? =
        synchronized(lock) {
            check(!closed) { "the message channel was closed" }
            val region = free.filter { it.length() >= size }.minByOrNull { it.length() } ?: return null
            free.remove(region)
            freeBytes -= region.length()
            region
        }

    private fun giveBack(region: MemoryRegion) {
        synchronized(lock) {
            if (!closed && region.isOpen && freeBytes + region.length() <= kept) {
                free.add(region)
                freeBytes += region.length()
                return
            }
        }
        region.close()
    }

    /** Closes what is not lent; the rest when it comes back. */
    override fun close() {
        val left =
            synchronized(lock) {
                closed = true
                free.toList().also { free.clear() }
            }
        left.forEach(MemoryRegion::close)
    }

    private inner class Loan(
        private val region: MemoryRegion,
        private val length: Long,
    ) : RegisteredBuffer() {
        /** Work requests that use it, and one for its owner until the close. */
        private var users = 1
        private var isClosed = false

        override val memory: MemorySegment get() = region.memory().asSlice(0, length)

        override fun slice(
            offset: Long,
            length: Long,
        ): MemorySlice = region.slice(offset, length, this)

        override fun part(
            offset: Long,
            length: Long,
        ): MemorySlice = region.slice(offset, length)

        override fun pin(): Unit =
            synchronized(this) {
                check(users > 0) { "${region.describe()} is closed" }
                users++
            }

        override fun unpin() {
            if (synchronized(this) { --users == 0 }) giveBack(region)
        }

        override fun close() {
            synchronized(this) {
                if (isClosed) return
                isClosed = true
            }
            unpin()
        }
    }

    private companion object {
        const val SMALLEST = 8192L
    }
}

/** [bytes], 1 or more, rounded up to a power of two. */
internal fun powerOfTwo(bytes: Long): Long = java.lang.Long.highestOneBit(bytes * 2 - 1)
