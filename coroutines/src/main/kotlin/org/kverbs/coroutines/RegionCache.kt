package org.kverbs.coroutines

import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import org.kverbs.attributes.AccessFlag
import java.lang.foreign.MemorySegment

/**
 * Lends registered memory for one purpose. It registers memory when it is first needed, in powers of two, and reuses
 * it: messages of a steady size register nothing. Any thread can call.
 *
 * @param kept number of unused bytes that stay registered
 * @param clears true to clear the bytes of earlier uses behind the lent bytes in their region
 */
internal class RegionCache(
    private val pd: ProtectionDomain,
    private val kept: Long,
    private vararg val access: AccessFlag,
    private val clears: Boolean = false,
) : AutoCloseable {
    /**
     * A region that is not lent, and the number of its bytes that the last use has written. With [clears] the bytes
     * behind these are 0.
     */
    private class Free(
        val region: MemoryRegion,
        val used: Long,
    )

    private val lock = Any()
    private val free = ArrayList<Free>()
    private var freeBytes = 0L
    private var closed = false

    /**
     * Lends [length] bytes, 1 or more, until the buffer is closed and no work request uses it. The buffer contains the
     * bytes of its last use.
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

    /** Closes the regions that are not lent now, and the others when they come back. */
    override fun close() {
        val left =
            synchronized(lock) {
                closed = true
                free.toList().also { free.clear() }
            }
        closeAll(*Array(left.size) { left[it].region })
    }

    private inner class Loan(
        private val region: MemoryRegion,
        private val length: Long,
    ) : RegisteredBuffer() {
        /** The number of work requests that use the buffer, plus one until it is closed. */
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
                check(users > 0) { "${region.describe()} is closed: use the buffer before its close" }
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

/** Rounds [bytes], 1 or more, up to a power of two. */
internal fun powerOfTwo(bytes: Long): Long = java.lang.Long.highestOneBit(bytes * 2 - 1)
