package org.kverbs.coroutines

import kotlinx.coroutines.Job
import org.kverbs.dsl.GiB
import org.kverbs.dsl.MiB
import org.kverbs.dsl.RdmaDsl
import kotlin.coroutines.CoroutineContext
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/** How an [RdmaServer] treats its clients. Mutable within its block. */
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
    internal var handlers: CoroutineContext? = null
        private set
    internal var isShared = false
        private set
    internal var idleTimeout: Duration? = null
        private set
    internal var memory = 1.GiB
        private set
    private var maxMessageSize = 4.MiB
    private var memoryPerConnection: Long? = null
    private var keepAlive: Duration? = 5.seconds
    private var channel: MessageChannelBuilder.() -> Unit = {}

    /** Connections at a time, those that come up among them; default 1000. Further clients are rejected. */
    public fun maxConnections(count: Int) {
        require(count > 0) { "maxConnections($count): give 1 or more" }
        maxConnections = count
    }

    /**
     * Clients at a time that were accepted and have not answered yet; default 128. Further ones wait for their turn.
     */
    public fun maxHalfOpen(count: Int) {
        require(count > 0) { "maxHalfOpen($count): give 1 or more" }
        maxHalfOpen = count
    }

    /**
     * Bytes of the longest message that is taken from a client; default 4 MiB. A client that announces a longer one
     * loses its connection.
     */
    public fun maxMessageSize(bytes: Long) {
        require(bytes > 0) { "maxMessageSize($bytes): give 1 or more" }
        maxMessageSize = bytes
    }

    /**
     * Bytes that all connections hold together, of receive slots and of large messages that came and were not received;
     * default 1 GiB. The slots count for each connection, also where those of a device share them. A client for whose
     * slots there is no room is rejected; a large message for which there is none waits in its sender's memory.
     */
    public fun memory(bytes: Long) {
        require(bytes > 0) { "memory($bytes): give 1 or more" }
        memory = bytes
    }

    /**
     * Bytes of that for one connection: at least its slots and a message of [maxMessageSize]. Default is 1 MiB more
     * than such a message.
     */
    public fun memoryPerConnection(bytes: Long) {
        require(bytes > 0) { "memoryPerConnection($bytes): give 1 or more" }
        memoryPerConnection = bytes
    }

    /**
     * How long nothing may come or go over a connection before it fails, at most a quarter later; default null, which
     * is for ever. A handler that works longer on an answer needs more time.
     *
     * Messages of both sides count, and what this side does with the client's memory. What the client reads and writes
     * of published memory this device cannot see: the client says so, once in its own [ClientBuilder.keepAlive] (5 s by
     * default). So give at least twice that where clients do nothing else; one whose keepAlive is null counts by its
     * messages alone.
     */
    public fun idleTimeout(time: Duration?) {
        require(time == null || time.isPositive()) { "idleTimeout($time): give a time, or null" }
        idleTimeout = time
    }

    /**
     * How long nothing may come before the server looks whether the client is still there; see
     * [MessageChannelBuilder.keepAlive]. Default 5 s.
     */
    public fun keepAlive(interval: Duration?) {
        MessageChannelBuilder().keepAlive(interval) // refuses what is none
        keepAlive = interval
    }

    /** How long a client may take to answer, once it was accepted, and [authorize] to decide; default 10 s. */
    public fun timeout(step: Duration) {
        require(step.isPositive()) { "timeout is $step; a step needs time" }
        timeout = step
    }

    /**
     * Decides whether a client comes in, from what it says with its request; default is that all do. Nothing was
     * allocated for the client yet. It may suspend; false, an exception or a decision later than [timeout] rejects the
     * client.
     */
    public fun authorize(decide: suspend (request: ClientRequest) -> Boolean) {
        authorize = decide
    }

    /**
     * Told of each connection that fails: why it did not come up, or what its handler threw. Default is one line a
     * connection to the [System.Logger] `org.kverbs.coroutines` as a warning, at most one a second, which says how many
     * were left out. Any thread.
     */
    public fun onFailure(told: (failure: Throwable) -> Unit) {
        onFailure = told
    }

    /**
     * Where handlers run; default is that of [RdmaHostBuilder.context], which by default is many threads. A job in it
     * has no effect.
     */
    public fun handlers(context: CoroutineContext) {
        handlers = context.minusKey(Job)
    }

    /**
     * Makes all connections in the device's domain; see [ConnectionBuilder.sharedDomain]. What is published to a client
     * is open to all then.
     */
    public fun sharedDomain() {
        isShared = true
    }

    /** The slots and buffers of each connection. */
    public fun channel(block: MessageChannelBuilder.() -> Unit) {
        channel = block
    }

    /** The settings of each channel, whose limits are consistent. */
    internal fun channelSettings(): MessageChannelBuilder.() -> Unit {
        val longest = maxMessageSize
        val interval = keepAlive
        val further = channel
        val slots = MessageChannelBuilder().apply(further).slotBytes
        val most = memoryPerConnection ?: (slots + longest + 1.MiB)
        require(most >= slots + longest) {
            "memoryPerConnection($most): $slots bytes of slots and a message of $longest are more"
        }
        require(
            memory >= most,
        ) {
            "memory($memory): one connection may take $most; give more, or lower maxMessageSize or memoryPerConnection"
        }
        return {
            maxMessage(longest)
            keepAlive(interval)
            fetchAhead(minOf(most - slots, Int.MAX_VALUE.toLong()).toInt())
            further()
        }
    }
}
