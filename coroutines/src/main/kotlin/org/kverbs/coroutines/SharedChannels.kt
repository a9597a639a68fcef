package org.kverbs.coroutines

import org.kverbs.Context
import org.kverbs.ProtectionDomain
import org.kverbs.RdmaSystemException
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.MW_BIND
import org.kverbs.attributes.DeviceCapability.MEM_WINDOW_TYPE_2A
import org.kverbs.attributes.DeviceCapability.MEM_WINDOW_TYPE_2B
import org.kverbs.attributes.TransportType
import org.kverbs.dsl.srq

/**
 * Holds the resources that the message channels of a device share, so that an idle channel costs little: a shared
 * receive queue, and memory for messages under way.
 *
 * All queue pairs that use a shared receive queue are in one domain, as Soft-RoCE requires. Therefore no memory in this
 * domain has remote access: a peer reaches memory only through a memory window that is bound to its own queue pair. The
 * domain belongs to the library. Programs register memory in other domains, and [Shadows] registers the memory that
 * they use with a channel in this domain as well.
 */
internal class SharedChannels private constructor(
    dispatcher: CompletionDispatcher,
    val pd: ProtectionDomain,
    mostSlots: Int,
) {
    private val queue = pd.srq { maxWr(mostSlots) }
    val receives = SharedReceives(dispatcher, pd, queue, minOf(USUAL_SLOTS, mostSlots), mostSlots, SLOT_SIZE)
    val stage = ChannelStage(pd, SLOT_SIZE)
    val controls = ChannelStage(pd, ChannelMemory.CONTROL_SLOTS * ChannelMemory.CONTROL_SIZE)

    /**
     * Each region is lent to one peer at a time and holds nothing but the peer's message: Soft-RoCE of Linux 6.1 lets
     * the peer reach the whole region that its window is bound to.
     */
    val lent = RegionCache(pd, KEPT, LOCAL_WRITE, MW_BIND, clears = true)
    val private = RegionCache(pd, KEPT, LOCAL_WRITE)
    val shadows = Shadows(pd)

    /** Returns memory for a channel, or null if its slots are larger than the shared ones. */
    fun memory(settings: MessageChannelBuilder): ChannelMemory? =
        if (settings.slotSize > SLOT_SIZE) {
            null
        } else {
            SharedMemory(this)
        }

    companion object {
        private const val SLOT_SIZE = 4096
        private const val USUAL_SLOTS = 1024

        /** The most slots, for when more than [USUAL_SLOTS] connections can have begun a message and not ended it. */
        private const val MOST_SLOTS = 16_384

        /** Unused bytes of each kind that stay registered. */
        private const val KEPT = 16L shl 20

        /**
         * Creates the shared resources of a device, or returns null if the device lacks one of: shared receive queues,
         * type 2 windows, and senders that retry if a message finds no receive, as on InfiniBand and RoCE.
         */
        fun of(
            context: Context,
            dispatcher: CompletionDispatcher,
        ): SharedChannels? {
            val device = context.queryDevice()
            val hasWindows = device.capabilities().any { it == MEM_WINDOW_TYPE_2A || it == MEM_WINDOW_TYPE_2B }
            val waits = context.device().transportType() != TransportType.IWARP
            if (!hasWindows || !waits || device.maxSrqWr() == 0) return null
            val pd = context.protectionDomain()
            return try {
                SharedChannels(dispatcher, pd, minOf(MOST_SLOTS, device.maxSrqWr(), device.maxCqe()))
            } catch (_: RdmaSystemException) {
                pd.close() // the device has no queue left
                null
            }
        }
    }
}
