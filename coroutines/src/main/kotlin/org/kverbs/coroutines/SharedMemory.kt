package org.kverbs.coroutines

import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.MW_BIND
import java.lang.foreign.MemorySegment
import java.util.concurrent.CopyOnWriteArrayList

/**
 * Holds a channel's part of the shared memory of its device. An idle channel holds 64 bytes for each message without a
 * credit.
 */
internal class SharedMemory(
    private val shared: SharedChannels,
) : ChannelMemory {
    private val controls = shared.controls.take()
    private val published = CopyOnWriteArrayList<MemoryRegion>()
    private val bound = CopyOnWriteArrayList<Pair<MemoryRegion, AutoCloseable>>()
    override val pd: ProtectionDomain get() = shared.pd
    override val receiveCount: Int get() = 0
    override val receives: SharedReceives get() = shared.receives
    override val stage: ChannelStage get() = shared.stage
    override val piece: Int get() = ChannelMemory.MOST_AT_ONCE

    override fun receiveSlot(index: Int): MemorySlice = error("the receives of this channel are shared")

    override fun control(number: Int): MemorySlice {
        val slot = Integer.remainderUnsigned(number, ChannelMemory.CONTROL_SLOTS).toLong()
        return controls.part(slot * ChannelMemory.CONTROL_SIZE, ChannelMemory.CONTROL_SIZE.toLong())
    }

    override fun takeLent(length: Long): RegisteredBuffer = shared.lent.take(length)

    override fun takePrivate(length: Long): RegisteredBuffer = shared.private.take(length)

    override fun local(memory: MemorySlice): MemorySlice? =
        memory.takeIf { it.region().protectionDomain().context() === pd.context() }?.let(shared.shadows::of)

    override fun register(
        memory: MemorySegment,
        access: Set<AccessFlag>,
    ): MemoryRegion = pd.register(memory, LOCAL_WRITE, MW_BIND).also(published::add)

    override fun allocate(
        bytes: Long,
        access: Set<AccessFlag>,
    ): MemoryRegion = pd.memoryRegion(bytes, LOCAL_WRITE, MW_BIND).also(published::add)

    override fun giveBack(region: MemoryRegion) {
        if (published.remove(region)) region.close()
    }

    override fun closeWith(
        region: MemoryRegion,
        window: AutoCloseable,
    ) {
        if (region.protectionDomain().sharesMemoryWith(pd)) return // closed after their windows
        bound.add(region to window)
        shared.shadows.closeWith(region, window)
    }

    override fun forget(
        region: MemoryRegion,
        window: AutoCloseable,
    ) {
        if (bound.remove(region to window)) shared.shadows.forget(region, window)
    }

    override fun close() {
        closeAll({ controls.unpin() }, { closeAll(*published.toTypedArray()) })
        bound.forEach { (region, window) -> shared.shadows.forget(region, window) }
    }
}
