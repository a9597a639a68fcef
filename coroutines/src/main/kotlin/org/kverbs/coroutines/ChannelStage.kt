package org.kverbs.coroutines

import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import org.kverbs.attributes.AccessFlag
import java.lang.foreign.MemorySegment

/**
 * Where headers and short messages of a channel stand until the peer's device has them. There are as many slots as were
 * in use at once, registered when they are first needed: a connection that asks and answers has one. Any thread.
 */
internal class ChannelStage(
    private val pd: ProtectionDomain,
    private val slotSize: Int,
) : AutoCloseable {
    private val regions = ArrayList<MemoryRegion>()
    private val free = ArrayList<Slot>()
    private var count = 0
    private var closed = false

    /** Takes a slot, which a send request gives back when it has completed. The caller has room in the send queue. */
    fun take(): Slot =
        synchronized(this) {
            check(!closed) { "the message channel was closed" }
            if (free.isEmpty()) grow()
            free.removeLast()
        }

    private fun grow() {
        val more = maxOf(count, 1)
        val region = pd.memoryRegion(more.toLong() * slotSize, AccessFlag.LOCAL_WRITE)
        regions.add(region)
        count += more
        repeat(more) { free.add(Slot(region, it.toLong() * slotSize)) }
    }

    private fun giveBack(slot: Slot): Unit = synchronized(this) { if (!closed) free.add(slot) }

    override fun close() {
        val left =
            synchronized(this) {
                closed = true
                free.clear()
                regions.toList()
            }
        left.forEach(MemoryRegion::close)
    }

    /** One slot. It is pinned once, by the send request, whose end gives it back. */
    inner class Slot(
        private val region: MemoryRegion,
        private val start: Long,
    ) : RegisteredBuffer() {
        override val memory: MemorySegment = region.memory().asSlice(start, slotSize.toLong())

        /** The buffer in which the body of the message stands, if it is not here; pinned together with the slot. */
        var body: RegisteredBuffer? = null

        override fun slice(
            offset: Long,
            length: Long,
        ): MemorySlice = region.slice(start + offset, length, this)

        override fun part(
            offset: Long,
            length: Long,
        ): MemorySlice = region.slice(start + offset, length)

        override fun pin() {
            try {
                body?.pin()
            } catch (e: IllegalStateException) {
                body = null
                giveBack(this)
                throw e
            }
        }

        override fun unpin() {
            val pinned = body
            body = null
            giveBack(this)
            pinned?.unpin()
        }

        override fun close(): Unit = error("a slot is given back by the end of its send request")
    }
}
