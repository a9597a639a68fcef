package org.kverbs.coroutines

import kotlinx.coroutines.Job
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
    private var maxMessageSize = 4.MiB
    private var channel: MessageChannelBuilder.() -> Unit = {}

    /** Connections at a time, those that come up among them; default 1000. Further clients are rejected. */
    public fun maxConnections(count: Int) {
        require(count > 0) { "maxConnections($count): give 1 or more" }
        maxConnections = count
    }

    /** Clients at a time that were accepted and have not answered yet; default 128. Further ones wait for their turn. */
    public fun maxHalfOpen(count: Int) {
        require(count > 0) { "maxHalfOpen($count): give 1 or more" }
        maxHalfOpen = count
    }

    /** Bytes of the longest message that is taken from a client; default 4 MiB. A client that announces a longer one loses its connection. */
    public fun maxMessageSize(bytes: Long) {
        require(bytes > 0) { "maxMessageSize($bytes): give 1 or more" }
        maxMessageSize = bytes
    }

    /** How long a client may take to answer, once it was accepted, and [authorize] to decide; default 10 s. */
    public fun timeout(step: Duration) {
        require(step.isPositive()) { "timeout is $step; a step needs time" }
        timeout = step
    }

    /**
     * Decides whether a client comes in, from what it says with its request; default is that all do. Nothing was allocated for the client
     * yet. It may suspend; false, an exception or a decision later than [timeout] rejects the client.
     */
    public fun authorize(decide: suspend (request: ClientRequest) -> Boolean) {
        authorize = decide
    }

    /**
     * Told of each connection that fails: why it did not come up, or what its handler threw. Default is one line a connection to the
     * [System.Logger] `org.kverbs.coroutines` as a warning, at most one a second, which says how many were left out. Any thread.
     */
    public fun onFailure(told: (failure: Throwable) -> Unit) {
        onFailure = told
    }

    /** Where handlers run; default is that of [RdmaHostBuilder.context], which by default is many threads. A job in it has no effect. */
    public fun handlers(context: CoroutineContext) {
        handlers = context.minusKey(Job)
    }

    /** Makes all connections in the device's domain; see [ConnectionBuilder.sharedDomain]. What is published to a client is open to all then. */
    public fun sharedDomain() {
        isShared = true
    }

    /** The slots and buffers of each connection. */
    public fun channel(block: MessageChannelBuilder.() -> Unit) {
        channel = block
    }

    internal fun channelSettings(): MessageChannelBuilder.() -> Unit {
        val longest = maxMessageSize
        val further = channel
        return {
            maxMessage(longest)
            further()
        }
    }
}
