package org.kverbs.coroutines

import org.kverbs.cm.ConnectionRejectedException
import org.kverbs.dsl.RdmaDsl
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

/** Configures a client of an [RdmaServer]. Mutable within its block. */
@RdmaDsl
public class ClientBuilder internal constructor() {
    internal var firstPause: Duration = 100.milliseconds
        private set
    internal var longestPause: Duration = 10.seconds
        private set
    internal var giveUpAfter: Duration = Duration.INFINITE
        private set
    internal var retryIf: (Exception) -> Boolean = { it !is ConnectionRejectedException || !isFinal(it) }
        private set
    private var privateData = ByteArray(0)
    private var timeout: Duration = 10.seconds
    private var isShared = false
    private var maxMessageSize: Long? = null
    private var keepAlive: Duration? = 5.seconds
    private var channel: MessageChannelBuilder.() -> Unit = {}

    /** Sets bytes that the server sees before it accepts, at most 32. Default none. */
    public fun privateData(bytes: ByteArray) {
        require(bytes.size <= MOST_PRIVATE) { "privateData of ${bytes.size} bytes: give at most $MOST_PRIVATE" }
        privateData = bytes.clone()
    }

    /**
     * Limits the time of each step: to find the address, to find the route, and for the server's answer. Default 10 s.
     */
    public fun timeout(step: Duration) {
        require(step.isPositive()) { "timeout($step): give a time above 0" }
        timeout = step
    }

    /**
     * Sets the longest message that the server can send, in bytes; default 64 MiB. A server that announces a longer
     * message loses the connection.
     */
    public fun maxMessageSize(bytes: Long) {
        require(bytes > 0) { "maxMessageSize($bytes): give 1 or more" }
        maxMessageSize = bytes
    }

    /**
     * Sets the time without anything from the server after which the client probes it; see
     * [MessageChannelBuilder.keepAlive]. Default 5 s.
     */
    public fun keepAlive(interval: Duration?) {
        MessageChannelBuilder().keepAlive(interval) // refuses what is none
        keepAlive = interval
    }

    /** Creates the connection in the device's domain; see [ConnectionBuilder.sharedDomain]. */
    public fun sharedDomain() {
        isShared = true
    }

    /**
     * Sets how long [reconnecting] waits between attempts: [first], then twice as long each time up to [longest], each
     * shortened at random by up to a half. Default 100 ms and 10 s.
     */
    public fun backOff(
        first: Duration,
        longest: Duration = maxOf(first, 10.seconds),
    ) {
        require(first.isPositive() && longest >= first) {
            "backOff($first, $longest): give two times above 0, the shorter first"
        }
        firstPause = first
        longestPause = longest
    }

    /** Ends [reconnecting] after this time without a connection; default never. */
    public fun giveUpAfter(time: Duration) {
        require(time.isPositive()) { "giveUpAfter($time): give a time above 0" }
        giveUpAfter = time
    }

    /**
     * Sets the function that decides whether [reconnecting] tries again after a failure; if not, it throws the failure.
     * Default tries again, except after two rejections that another attempt cannot change: the server's authorize
     * function refused the client, or the server speaks another version of the protocol.
     */
    public fun retryIf(decide: (failure: Exception) -> Boolean) {
        retryIf = decide
    }

    /** Configures the slots and buffers of the connection. */
    public fun channel(block: MessageChannelBuilder.() -> Unit) {
        channel = block
    }

    internal fun setUp(host: RdmaHost): SetUp<MessageChannel> {
        val longest = maxMessageSize
        val interval = keepAlive
        val further = channel
        return host.channelSetUp(privateData, timeout, isShared) {
            longest?.let(::maxMessageSize)
            keepAlive(interval)
            further()
        }
    }

    private companion object {
        /** The private data of a request (56 bytes), less the channel's hello. */
        const val MOST_PRIVATE = 56 - ChannelHello.BYTES

        fun isFinal(rejected: ConnectionRejectedException) = Rejection.of(rejected)?.isFinal == true
    }
}

internal fun RdmaHost.channelSetUp(
    privateData: ByteArray,
    timeout: Duration,
    isShared: Boolean,
    settings: MessageChannelBuilder.() -> Unit,
): SetUp<MessageChannel> {
    val time = context
    val all: MessageChannelBuilder.() -> Unit = {
        context = time
        settings()
    }
    val hello = MessageChannelBuilder().apply(all).hello()
    return SetUp(
        { it.channelParameters.withPrivateData(hello + privateData) },
        timeout,
        isShared,
        make = { node, pd ->
            val chosen = MessageChannelBuilder().apply(all)
            chosen.pool?.requireDomain(pd)
            val shared = if (isShared) null else node.sharedChannels
            MessageChannel(node.dispatcher, shared?.memory(chosen) ?: PrivateMemory(pd, chosen), chosen)
        },
        queuePair = { it.queuePair.queuePair },
        prepared = { channel, peer -> channel.prepare(peer) },
        close = { it.close() },
    )
}
