package org.kverbs.coroutines

import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import org.kverbs.attributes.AccessFlag
import org.kverbs.dsl.get
import java.lang.foreign.MemorySegment
import java.util.concurrent.ConcurrentHashMap

/**
 * Holds the memory of a channel whose queue pair is in a domain of its own. It registers the receive slots at once,
 * with 64 bytes for each message without a credit, and the rest when it is needed.
 */
internal class PrivateMemory(
    override val pd: ProtectionDomain,
    settings: MessageChannelBuilder,
) : ChannelMemory {
    private val slotSize = settings.slotSize.toLong()
    private val pool = settings.pool
    override val receiveCount: Int = ChannelMemory.receives(settings)
    private val slotBytes = receiveCount * slotSize
    private val fixed: MemoryRegion =
        pd.memoryRegion(slotBytes + ChannelMemory.CONTROL_SLOTS * ChannelMemory.CONTROL_SIZE, AccessFlag.LOCAL_WRITE)
    override val receives: SharedReceives? get() = null
    override val stage = ChannelStage(pd, settings.slotSize)
    private val lent = RegionCache(pd, ChannelMemory.KEPT, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ)
    private val ahead = if (settings.fetchAhead > 0) settings.fetchAhead else ChannelMemory.MOST_AT_ONCE
    private val private = RegionCache(pd, powerOfTwo(ahead.toLong()), AccessFlag.LOCAL_WRITE)
    override val piece: Int = minOf(ahead, ChannelMemory.MOST_AT_ONCE)
    private val published: MutableSet<MemoryRegion> = ConcurrentHashMap.newKeySet()

    override fun receiveSlot(index: Int): MemorySlice = fixed[index * slotSize, slotSize]

    override fun control(number: Int): MemorySlice {
        val slot = Integer.remainderUnsigned(number, ChannelMemory.CONTROL_SLOTS)
        return fixed[slotBytes + slot * ChannelMemory.CONTROL_SIZE, ChannelMemory.CONTROL_SIZE.toLong()]
    }

    override fun takeLent(length: Long): RegisteredBuffer = lent.take(length)

    override fun takePrivate(length: Long): RegisteredBuffer =
        pool?.let { if (length <= it.maxBufferSize) it.tryTake(length) else null } ?: private.take(length)

    override fun local(memory: MemorySlice): MemorySlice? =
        memory.takeIf { it.region().protectionDomain().sharesMemoryWith(pd) }

    override fun register(
        memory: MemorySegment,
        access: Set<AccessFlag>,
    ): MemoryRegion = pd.register(memory, AccessFlag.LOCAL_WRITE, *access.toTypedArray()).also(published::add)

    override fun allocate(
        bytes: Long,
        access: Set<AccessFlag>,
    ): MemoryRegion = pd.memoryRegion(bytes, AccessFlag.LOCAL_WRITE, *access.toTypedArray()).also(published::add)

    override fun giveBack(region: MemoryRegion) {
        if (published.remove(region)) region.close()
    }

    // The peer reaches the memory by the region's key, not through a window.
    override fun closeWith(
        region: MemoryRegion,
        window: AutoCloseable,
    ): Unit = Unit

    override fun forget(
        region: MemoryRegion,
        window: AutoCloseable,
    ): Unit = Unit

    override fun close() {
        closeAll(fixed, stage, lent, private, *published.toTypedArray())
    }
}
