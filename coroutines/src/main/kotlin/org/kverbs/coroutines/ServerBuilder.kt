package org.kverbs.coroutines

import kotlinx.coroutines.Job
import org.kverbs.dsl.GiB
import org.kverbs.dsl.MiB
import org.kverbs.dsl.RdmaDsl
import kotlin.coroutines.CoroutineContext
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/** Configures an [RdmaServer]. Mutable within its block. */
@RdmaDsl
public class ServerBuilder internal constructor() {
    internal var maxConnections = 1000
        private set
    internal var maxHalfOpen = 128
        private set
    internal var timeout: Duration = 10.seconds
        private set
    internal var authorize: (suspend (ClientRequest) -> Boolean)? = null
        private set
    internal var onFailure: ((Throwable) -> Unit)? = null
        private set
    internal var handlerContext: CoroutineContext? = null
        private set
    internal var isShared = false
        private set
    internal var idleTimeout: Duration? = null
        private set
    internal var maxMemory = 1.GiB
        private set
    private var maxMessageSize = 4.MiB
    private var maxMemoryPerConnection: Long? = null
    private var keepAlive: Duration? = 5.seconds
    private var channel: MessageChannelBuilder.() -> Unit = {}

    /**
     * Sets the number of connections at a time, including those that are being set up; default 1000. The server rejects
     * further clients.
     */
    public fun maxConnections(count: Int) {
        require(count > 0) { "maxConnections($count): give 1 or more" }
        maxConnections = count
    }

    /**
     * Sets the number of clients at a time that were accepted and have yet to answer; default 128. Further clients wait
     * for their turn.
     */
    public fun maxHalfOpen(count: Int) {
        require(count > 0) { "maxHalfOpen($count): give 1 or more" }
        maxHalfOpen = count
    }

    /**
     * Sets the longest message that a client can send, in bytes; default 4 MiB. A client that announces a longer
     * message loses its connection.
     */
    public fun maxMessageSize(bytes: Long) {
        require(bytes > 0) { "maxMessageSize($bytes): give 1 or more" }
        maxMessageSize = bytes
    }

    /**
     * Limits the bytes that all connections hold together for receive slots and for large messages that were not
     * received yet; default 1 GiB. The slots count once for each connection, even if the connections of a device share
     * them. The server rejects a client whose slots exceed the limit; a large message that exceeds it waits in its
     * sender's memory.
     */
    public fun maxMemory(bytes: Long) {
        require(bytes > 0) { "maxMemory($bytes): give 1 or more" }
        maxMemory = bytes
    }

    /**
     * Limits the bytes of [maxMemory] that one connection holds: at least its slots and one message of
     * [maxMessageSize]. Default is 1 MiB more than these.
     */
    public fun maxMemoryPerConnection(bytes: Long) {
        require(bytes > 0) { "maxMemoryPerConnection($bytes): give 1 or more" }
        maxMemoryPerConnection = bytes
    }

    /**
     * Ends a connection over which nothing came or went for this time, at most a quarter of it later; default null,
     * never. A handler that works longer on an answer needs a longer time.
     *
     * Messages of both sides count, and this side's operations on the client's memory. This device cannot see the
     * client's operations on published memory: the client reports them, once in each [ClientBuilder.keepAlive] (5 s by
     * default). If clients only read and write published memory, give at least twice that time. For a client whose
     * keepAlive is null only its messages count.
     */
    public fun idleTimeout(time: Duration?) {
        require(time == null || time.isPositive()) { "idleTimeout($time): give a time above 0, or null" }
        idleTimeout = time
    }

    /**
     * Sets the time without anything from the client after which the server probes it; see
     * [MessageChannelBuilder.keepAlive]. Default 5 s.
     */
    public fun keepAlive(interval: Duration?) {
        MessageChannelBuilder().keepAlive(interval) // refuses what is none
        keepAlive = interval
    }

    /** Limits the time for an accepted client to answer, and for [authorize] to decide; default 10 s. */
    public fun timeout(step: Duration) {
        require(step.isPositive()) { "timeout($step): give a time above 0" }
        timeout = step
    }

    /**
     * Sets the function that decides whether to accept a client, from its request; default accepts all. It runs before
     * the server allocates anything for the client, and can suspend. False, an exception, or a decision later than
     * [timeout] rejects the client.
     */
    public fun authorize(decide: suspend (request: ClientRequest) -> Boolean) {
        authorize = decide
    }

    /**
     * Sets the function that is called for each failed connection, with the reason for which it was not set up, or the
     * exception of its handler. Default writes one warning for each to the [System.Logger] `org.kverbs.coroutines`, at
     * most one a second, with the number of those left out. Called on any thread.
     */
    public fun onFailure(told: (failure: Throwable) -> Unit) {
        onFailure = told
    }

    /**
     * Sets the context in which handlers run; default [RdmaHostBuilder.context], which by default has many threads. A
     * job in it has no effect.
     */
    public fun handlerContext(context: CoroutineContext) {
        handlerContext = context.minusKey(Job)
    }

    /**
     * Creates all connections in the device's domain; see [ConnectionBuilder.sharedDomain]. All clients can then reach
     * what is published to one of them.
     */
    public fun sharedDomain() {
        isShared = true
    }

    /**
     * Configures the slots and buffers of each connection. A setting of the block takes the place of the server's:
     * without [MessageChannelBuilder.fetchAhead], a connection reads as many bytes ahead as [maxMemoryPerConnection]
     * leaves beside its slots.
     */
    public fun channel(block: MessageChannelBuilder.() -> Unit) {
        channel = block
    }

    /** Returns the settings of each channel, with limits that fit together. */
    internal fun channelSettings(): MessageChannelBuilder.() -> Unit {
        val general = maxMessageSize
        val interval = keepAlive
        val further = channel
        val settings = MessageChannelBuilder().also { it.maxMessageSize(general) }.apply(further)
        val longest = settings.maxMessageSize
        val slots = settings.slotBytes
        val most = maxMemoryPerConnection ?: (slots + longest + 1.MiB)
        require(most >= slots + longest) {
            "maxMemoryPerConnection($most): a connection needs $slots bytes for its slots and " +
                "$longest for the longest message; give ${slots + longest} or more, or lower maxMessageSize"
        }
        require(
            maxMemory >= most,
        ) {
            "maxMemory($maxMemory): one connection may take $most; give more, or lower maxMessageSize or " +
                "maxMemoryPerConnection"
        }
        return {
            maxMessageSize(general)
            keepAlive(interval)
            fetchAhead(minOf(most - slots, Int.MAX_VALUE.toLong()))
            further()
        }
    }
}
