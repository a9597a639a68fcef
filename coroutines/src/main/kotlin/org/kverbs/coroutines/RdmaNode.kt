package org.kverbs.coroutines

import org.kverbs.Context
import org.kverbs.ProtectionDomain
import org.kverbs.cm.ConnectionParameters

/**
 * Holds a device that an [RdmaHost] has opened, and the objects that its connections share. The host owns and closes
 * it.
 */
public class RdmaNode internal constructor(
    /** The open device. */
    public val context: Context,
    dispatcher: CompletionDispatcherBuilder.() -> Unit,
) : AutoCloseable {
    /**
     * The device's shared protection domain: for datagrams, and for connections with [ConnectionBuilder.sharedDomain].
     * Every other connection has a domain of its own, so that no other peer reaches the memory published to it.
     */
    public val pd: ProtectionDomain = context.protectionDomain()

    /** The dispatcher of the completions of all connections on this device. */
    public val dispatcher: CompletionDispatcher = context.completionDispatcher(dispatcher)

    /** Returns the domain for a connection's queue pair; the caller closes a domain that is not [pd]. */
    internal fun domain(isShared: Boolean): ProtectionDomain = if (isShared) pd else context.protectionDomain()

    /** The receive queues that message channels share; null if the device does not support them. */
    internal val sharedChannels: SharedChannels? by lazy { SharedChannels.of(context, this.dispatcher) }

    /** The reads and atomics that a message channel's connection requests and grants. */
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
         * Reads and atomics of a channel in flight at once, the usual limit of InfiniBand cards. Soft-RoCE allows 128,
         * but keeps memory for each in each queue pair.
         */
        const val CHANNEL_READS = 16
    }
}
