package org.kverbs.coroutines

import org.kverbs.ConnectionParameters
import org.kverbs.dsl.RdmaDsl
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/** How a client of an [RdmaServer] connects. Mutable within its block. */
@RdmaDsl
public class ClientBuilder internal constructor() {
    private var privateData = ByteArray(0)
    private var timeout: Duration = 10.seconds
    private var isShared = false
    private var maxMessageSize: Long? = null
    private var channel: MessageChannelSettings.() -> Unit = {}

    /** Bytes for the server, which sees them before it accepts: at most 32. Default none. */
    public fun privateData(bytes: ByteArray) {
        privateData = bytes.clone()
    }

    /** How long each step may take: finding the address, the route, and the server's answer. Default 10 s. */
    public fun timeout(step: Duration) {
        require(step.isPositive()) { "timeout is $step; a step needs time" }
        timeout = step
    }

    /** Bytes of the longest message that is taken from the server; default 64 MiB. A server that announces a longer one ends the connection. */
    public fun maxMessageSize(bytes: Long) {
        require(bytes > 0) { "maxMessageSize($bytes): give 1 or more" }
        maxMessageSize = bytes
    }

    /** Makes the connection in the device's domain; see [ConnectionBuilder.sharedDomain]. */
    public fun sharedDomain() {
        isShared = true
    }

    /** The slots and buffers of the connection. */
    public fun channel(block: MessageChannelSettings.() -> Unit) {
        channel = block
    }

    internal fun setUp(): SetUp<MessageChannel> {
        val longest = maxMessageSize
        val further = channel
        return channelSetUp(privateData, timeout, isShared) {
            longest?.let(::maxMessage)
            further()
        }
    }
}

internal fun channelSetUp(
    privateData: ByteArray,
    timeout: Duration,
    isShared: Boolean,
    settings: MessageChannelSettings.() -> Unit,
): SetUp<MessageChannel> {
    val hello = MessageChannelSettings().apply(settings).hello()
    return SetUp(
        ConnectionParameters.DEFAULTS.withPrivateData(hello + privateData),
        timeout,
        isShared,
        make = { node, pd -> node.dispatcher.messageChannel(pd, settings) },
        queuePair = { it.queuePair.queuePair },
        prepared = { it.prepare() },
    )
}
