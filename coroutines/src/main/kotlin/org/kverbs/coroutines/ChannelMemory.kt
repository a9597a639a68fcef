package org.kverbs.coroutines

import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import org.kverbs.attributes.AccessFlag
import java.lang.foreign.MemorySegment

/**
 * Holds all memory of a channel: [PrivateMemory] in the channel's own domain, or [SharedMemory], which the channels of
 * a device share. Any thread can call.
 */
internal interface ChannelMemory : AutoCloseable {
    /** The domain of the channel's queue pair. */
    val pd: ProtectionDomain

    /** Number of receives that the channel posts, each with a slot of its own; 0 if it uses [receives]. */
    val receiveCount: Int

    /** The shared receives of the queue pair; null if it has receives of its own. */
    val receives: SharedReceives?

    /** The slots of short messages that are being sent. */
    val stage: ChannelStage

    /** Largest number of bytes to read at once into [takePrivate], so that its memory stays registered. */
    val piece: Int

    /** Returns a receive slot. */
    fun receiveSlot(index: Int): MemorySlice

    /** Returns the memory of the message without a credit that is sent with this number. */
    fun control(number: Int): MemorySlice

    /** Takes memory for a large message to send. The peer can read it only when the queue pair lends it. */
    fun takeLent(length: Long): RegisteredBuffer

    /** Takes memory for one-sided operations; the peer cannot reach it. */
    fun takePrivate(length: Long): RegisteredBuffer

    /**
     * Returns the same bytes with the lkey that the queue pair's requests need, or null if its domain cannot use them.
     */
    fun local(memory: MemorySlice): MemorySlice?

    /** Registers the program's memory for the peer, until [giveBack] or the end of the channel. */
    fun register(
        memory: MemorySegment,
        access: Set<AccessFlag>,
    ): MemoryRegion

    /** Allocates memory and registers it for the peer, until [giveBack] or the end of the channel. */
    fun allocate(
        bytes: Long,
        access: Set<AccessFlag>,
    ): MemoryRegion

    fun giveBack(region: MemoryRegion)

    /**
     * Closes [window] before the region that it is bound to is closed; ends with [forget] or the end of the channel.
     */
    fun closeWith(
        region: MemoryRegion,
        window: AutoCloseable,
    )

    fun forget(
        region: MemoryRegion,
        window: AutoCloseable,
    )

    /** Frees the memory, after the queue pair is gone. */
    override fun close()

    companion object {
        /** Number of messages without a credit that can be under way. */
        val CONTROL_SLOTS = SendSlots.count(ChannelQueuePair.CONTROLS)

        /** Bytes of each such message. */
        const val CONTROL_SIZE = 64

        /** Largest number of bytes to read at once. */
        const val MOST_AT_ONCE = 1 shl 20

        /** Bytes for sending large messages that stay registered when no large message is under way. */
        const val KEPT = 4L shl 20

        /** Returns the number of receives that a channel needs. */
        fun receives(settings: MessageChannelBuilder): Int =
            settings.receiveSlots + settings.largeMessages + ChannelMessage.CONTROL_SLOTS
    }
}
