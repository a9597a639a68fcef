package org.kverbs.coroutines

import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import org.kverbs.attributes.AccessFlag
import java.lang.foreign.MemorySegment

/**
 * Holds headers and short messages of a channel until the peer's device has them. Slots are registered when they are
 * first needed, as many as are in use at once: a connection with one request at a time has one slot. Any thread can
 * call.
 */
internal class ChannelStage(
    private val pd: ProtectionDomain,
    private val slotSize: Int,
) : AutoCloseable {
    private val regions = ArrayList<MemoryRegion>()
    private val free = ArrayList<Slot>()
    private var count = 0
    private var closed = false

    /**
     * Takes a slot. The send request gives it back when it has completed. The caller holds an entry of the send queue.
     */
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
        closeAll(*left.toTypedArray())
    }

    /** One slot. The send request pins it once and gives it back by its end. */
    inner class Slot(
        private val region: MemoryRegion,
        private val start: Long,
    ) : RegisteredBuffer() {
        override val memory: MemorySegment = region.memory().asSlice(start, slotSize.toLong())

        /** The buffer that holds the body of the message, if the slot does not; pinned together with the slot. */
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
            } catch (e: Throwable) {
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
