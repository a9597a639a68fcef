package org.kverbs.coroutines

import org.kverbs.AccessFlag
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import java.lang.foreign.MemorySegment

/** A buffer that is a region of its own: what a pool has no room for, or what a peer may see without seeing others' bytes. */
internal class RegionBuffer(
    pd: ProtectionDomain,
    length: Long,
    vararg access: AccessFlag,
) : RegisteredBuffer() {
    private val region = pd.memoryRegion(length, *access)
    private val lock = Any()
    private var pins = 0
    private var closed = false

    override val memory: MemorySegment get() = region.memory()

    override fun slice(
        offset: Long,
        length: Long,
    ): MemorySlice = region.slice(offset, length, this)

    override fun part(
        offset: Long,
        length: Long,
    ): MemorySlice = region.slice(offset, length)

    override fun pin() {
        synchronized(lock) {
            check(!closed) { "${region.describe()} is closed" }
            pins++
        }
    }

    override fun unpin() {
        if (synchronized(lock) { --pins == 0 && closed }) region.close()
    }

    override fun close() {
        val free =
            synchronized(lock) {
                if (closed) return
                closed = true
                pins == 0
            }
        if (free) region.close()
    }
}
