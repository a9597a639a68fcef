package org.kverbs.coroutines

import org.kverbs.AccessFlag
import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import org.kverbs.RemoteMemory
import org.kverbs.dsl.get
import java.lang.foreign.MemorySegment
import java.util.concurrent.ConcurrentHashMap

/**
 * All the memory that a channel uses, in its protection domain. Only the receive slots are registered from the
 * beginning, with 64 bytes for each message without a credit; the rest is when it is needed. Any thread.
 */
internal class ChannelMemory(
    val pd: ProtectionDomain,
    settings: MessageChannelBuilder,
) : AutoCloseable {
    private val slotSize = settings.slotSize.toLong()
    private val pool = settings.pool

    /** How many receives the channel posts, each with a slot of its own. */
    val receiveCount: Int = settings.receiveSlots + settings.largeMessages + ChannelMessage.CONTROL_SLOTS
    private val fixed: MemoryRegion = pd.memoryRegion(receiveCount * slotSize + CONTROL_SLOTS * CONTROL_SIZE, AccessFlag.LOCAL_WRITE)

    /** Short messages on their way out. */
    val stage = ChannelStage(pd, settings.slotSize)
    private val lent = RegionCache(pd, KEPT, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ)
    private val private = RegionCache(pd, powerOfTwo(settings.fetchAhead.toLong()), AccessFlag.LOCAL_WRITE)

    /** Bytes that are read at once into [takePrivate], so that its memory is kept. */
    val piece: Int = minOf(settings.fetchAhead, MOST_AT_ONCE)

    private val published: MutableSet<MemoryRegion> = ConcurrentHashMap.newKeySet()

    /** A receive slot. */
    fun receiveSlot(index: Int): MemorySlice = fixed[index * slotSize, slotSize]

    /** Where the message without a credit stands that is sent with this number. */
    fun control(number: Int): MemorySlice =
        fixed[receiveCount * slotSize + Integer.remainderUnsigned(number, CONTROL_SLOTS) * CONTROL_SIZE, CONTROL_SIZE]

    /** Memory for a large message on its way out, which the peer may read. */
    fun takeLent(length: Long): RegisteredBuffer = lent.take(length)

    /** Memory for what comes from the peer's memory or goes there; the peer does not see it. */
    fun takePrivate(length: Long): RegisteredBuffer =
        pool?.let { if (length <= it.maxBuffer) it.tryTake(length) else null } ?: private.take(length)

    /** Lets the peer reach memory of this domain, as far as its access flags allow. */
    fun expose(memory: MemorySlice): RemoteMemory = memory.region().remote().slice(memory.offset(), memory.length())

    /** Registers memory of the user for the peer, until [giveBack] or the end of the channel. */
    fun register(
        memory: MemorySegment,
        access: Set<AccessFlag>,
    ): MemoryRegion = pd.register(memory, AccessFlag.LOCAL_WRITE, *access.toTypedArray()).also(published::add)

    /** The same for new memory. */
    fun allocate(
        bytes: Long,
        access: Set<AccessFlag>,
    ): MemoryRegion = pd.memoryRegion(bytes, AccessFlag.LOCAL_WRITE, *access.toTypedArray()).also(published::add)

    fun giveBack(region: MemoryRegion) {
        if (published.remove(region)) region.close()
    }

    /** The queue pair is gone. */
    override fun close() {
        fixed.close()
        stage.close()
        lent.close()
        private.close()
        published.forEach(MemoryRegion::close)
    }

    private companion object {
        val CONTROL_SLOTS = SendSlots.count(ChannelQueuePair.CONTROLS)
        const val CONTROL_SIZE = 64L

        const val MOST_AT_ONCE = 1 shl 20

        /** Bytes for large messages on their way out that stay registered while there are none. */
        const val KEPT = 4L shl 20
    }
}
