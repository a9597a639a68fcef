package org.kverbs.coroutines

import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import org.kverbs.attributes.AccessFlag
import java.lang.foreign.MemorySegment

/**
 * Registered memory for one purpose of one channel. It is registered when it is first needed, in powers of two, and
 * then used again: messages of a steady size register nothing. Any thread.
 *
 * @param kept how many bytes stay registered while nobody uses them
 * @param clears whether what an earlier use left behind the lent bytes in their region is cleared
 */
internal class RegionCache(
    private val pd: ProtectionDomain,
    private val kept: Long,
    private vararg val access: AccessFlag,
    private val clears: Boolean = false,
) : AutoCloseable {
    /** A region that is not lent, and how many of its bytes were in the last use. There is nothing behind those. */
    private class Free(
        val region: MemoryRegion,
        val used: Long,
    )

    private val lock = Any()
    private val free = ArrayList<Free>()
    private var freeBytes = 0L
    private var closed = false

    /**
     * Lends [length] bytes, 1 or more, until the buffer is closed and no work request uses it. The bytes of the last
     * use stand in it.
     */
    fun take(length: Long): RegisteredBuffer {
        val size = maxOf(SMALLEST, powerOfTwo(length))
        val known = takeFree(size) ?: return Loan(pd.memoryRegion(size, *access), length)
        if (clears && known.used > length) known.region.memory().asSlice(length, known.used - length).fill(0)
        return Loan(known.region, length)
    }

    private fun takeFree(size: Long): Free? =
        synchronized(lock) {
            check(!closed) { "the message channel was closed" }
            val known = free.filter { it.region.length() >= size }.minByOrNull { it.region.length() } ?: return null
            free.remove(known)
            freeBytes -= known.region.length()
            known
        }

    private fun giveBack(
        region: MemoryRegion,
        used: Long,
    ) {
        synchronized(lock) {
            if (!closed && region.isOpen && freeBytes + region.length() <= kept) {
                free.add(Free(region, used))
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
        left.forEach { it.region.close() }
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
            if (synchronized(this) { --users == 0 }) giveBack(region, length)
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
