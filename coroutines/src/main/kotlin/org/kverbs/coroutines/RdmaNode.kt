package org.kverbs.coroutines

import org.kverbs.Context
import org.kverbs.ProtectionDomain
import org.kverbs.cm.ConnectionParameters

/** A device that an [RdmaHost] has opened, and what its connections share there. It belongs to the host. */
public class RdmaNode internal constructor(
    /** The open device. */
    public val context: Context,
    dispatcher: CompletionDispatcherBuilder.() -> Unit,
) : AutoCloseable {
    /**
     * The device's domain. Datagrams are in it, and connections that were made by [ConnectionBuilder.sharedDomain]; all
     * others have one of their own, so that what is published to one peer is closed to the others.
     */
    public val pd: ProtectionDomain = context.protectionDomain()

    /** Takes the completions of all its connections. */
    public val dispatcher: CompletionDispatcher = context.completionDispatcher(dispatcher)

    /** Where a connection's queue pair is made; its owner closes a domain that is not [pd]. */
    internal fun domain(isShared: Boolean): ProtectionDomain = if (isShared) pd else context.protectionDomain()

    /** What message channels share that are in no domain of their own; null where the device can't. */
    internal val sharedChannels: SharedChannels? by lazy { SharedChannels.of(context, this.dispatcher) }

    /** What a message channel's connection asks and grants. */
    internal val channelParameters: ConnectionParameters by lazy {
        val device = context.queryDevice()
        ConnectionParameters.DEFAULTS.withReads(
            minOf(CHANNEL_READS, device.maxQpRdAtom()),
            minOf(CHANNEL_READS, device.maxQpInitRdAtom()),
        )
    }

    /** Stops the dispatcher and closes the device. */
    override fun close(): Unit = closeAll(dispatcher, context)

    /** Names the device. */
    override fun toString(): String = context.describe()

    private companion object {
        /**
         * Reads and atomics of a channel that are in flight at once, as many as InfiniBand cards usually have.
         * Soft-RoCE can have 128, and keeps memory for each in each queue pair.
         */
        const val CHANNEL_READS = 16
    }
}
