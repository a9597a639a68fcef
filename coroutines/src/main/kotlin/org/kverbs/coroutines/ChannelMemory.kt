package org.kverbs.coroutines

import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import org.kverbs.attributes.AccessFlag
import java.lang.foreign.MemorySegment

/**
 * All the memory that a channel uses: [PrivateMemory], in a domain that is its own, or [SharedMemory], which it has
 * together with the other channels of its device. Any thread.
 */
internal interface ChannelMemory : AutoCloseable {
    /** The domain of the channel's queue pair. */
    val pd: ProtectionDomain

    /** How many receives the channel posts, each with a slot of its own; 0 if its messages come by [receives]. */
    val receiveCount: Int

    /** Where the queue pair takes its receives from, if it has none of its own. */
    val receives: SharedReceives?

    /** Short messages on their way out. */
    val stage: ChannelStage

    /** Bytes that are read at once into [takePrivate], so that its memory is kept. */
    val piece: Int

    /** A receive slot. */
    fun receiveSlot(index: Int): MemorySlice

    /** Where the message without a credit stands that is sent with this number. */
    fun control(number: Int): MemorySlice

    /** Memory for a large message on its way out, which the peer may read when the queue pair lends it. */
    fun takeLent(length: Long): RegisteredBuffer

    /** Memory for what comes from the peer's memory or goes there; the peer does not see it. */
    fun takePrivate(length: Long): RegisteredBuffer

    /** The same bytes as requests of the queue pair name them, or null if those can't. */
    fun local(memory: MemorySlice): MemorySlice?

    /** Registers memory of the user for the peer, until [giveBack] or the end of the channel. */
    fun register(
        memory: MemorySegment,
        access: Set<AccessFlag>,
    ): MemoryRegion

    /** The same for new memory. */
    fun allocate(
        bytes: Long,
        access: Set<AccessFlag>,
    ): MemoryRegion

    fun giveBack(region: MemoryRegion)

    /**
     * Closes [window], which is bound to a region's memory, before that leaves the domain by the region's close, until
     * [forget] or the end of the channel.
     */
    fun closeWith(
        region: MemoryRegion,
        window: AutoCloseable,
    )

    fun forget(
        region: MemoryRegion,
        window: AutoCloseable,
    )

    /** The queue pair is gone. */
    override fun close()

    companion object {
        /** Messages without a credit that can be under way. */
        val CONTROL_SLOTS = SendSlots.count(ChannelQueuePair.CONTROLS)

        /** Bytes of each. */
        const val CONTROL_SIZE = 64

        /** The most bytes that are read at once. */
        const val MOST_AT_ONCE = 1 shl 20

        /** Bytes for large messages on their way out that stay registered while there are none. */
        const val KEPT = 4L shl 20

        /** How many receives a channel needs. */
        fun receives(settings: MessageChannelBuilder): Int =
            settings.receiveSlots + settings.largeMessages + ChannelMessage.CONTROL_SLOTS
    }
}
