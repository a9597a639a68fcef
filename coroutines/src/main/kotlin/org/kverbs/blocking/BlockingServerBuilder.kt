package org.kverbs.blocking

import kotlinx.coroutines.runInterruptible
import org.kverbs.coroutines.ClientRequest
import org.kverbs.coroutines.RdmaHost
import org.kverbs.coroutines.RdmaServer
import org.kverbs.coroutines.ServerBuilder
import org.kverbs.coroutines.bind
import java.net.InetSocketAddress
import java.time.Duration
import java.util.function.Consumer
import java.util.function.Predicate
import kotlin.time.toKotlinDuration

/**
 * How a [BlockingServer] treats its clients; made by [BlockingHost.server]. The defaults are those of [ServerBuilder].
 * One thread.
 */
public class BlockingServerBuilder internal constructor(
    private val host: RdmaHost,
) {
    private val settings = Settings(::ServerBuilder)

    /** Connections at a time, those that come up among them. Further clients are rejected. */
    public fun maxConnections(count: Int): BlockingServerBuilder = with { maxConnections(count) }

    /** Clients at a time that were accepted and have not answered yet. Further ones wait for their turn. */
    public fun maxHalfOpen(count: Int): BlockingServerBuilder = with { maxHalfOpen(count) }

    /**
     * Bytes of the longest message that is taken from a client. A client that announces a longer one loses its
     * connection.
     */
    public fun maxMessageSize(bytes: Long): BlockingServerBuilder = with { maxMessageSize(bytes) }

    /**
     * Bytes that all connections hold together, of receive slots and of large messages that came and were not received.
     * A client for whose slots there is no room is rejected; a large message for which there is none waits in its
     * sender's memory.
     */
    public fun memory(bytes: Long): BlockingServerBuilder = with { memory(bytes) }

    /** Bytes of that for one connection: at least its slots and a message of [maxMessageSize]. */
    public fun memoryPerConnection(bytes: Long): BlockingServerBuilder = with { memoryPerConnection(bytes) }

    /**
     * How long no message may come or go over a connection before it fails; null is for ever. A handler that works
     * longer on an answer needs more time.
     */
    public fun idleTimeout(time: Duration?): BlockingServerBuilder = with { idleTimeout(time?.toKotlinDuration()) }

    /** How long nothing may come before the server looks whether the client is still there; null is for ever. */
    public fun keepAlive(interval: Duration?): BlockingServerBuilder = with { keepAlive(interval?.toKotlinDuration()) }

    /** How long a client may take to answer once it was accepted, and [authorize] to decide. */
    public fun timeout(step: Duration): BlockingServerBuilder = with { timeout(step.toKotlinDuration()) }

    /**
     * Decides whether a client comes in, from what it says with its request. Nothing was allocated for the client yet.
     * The predicate runs on a virtual thread, so it may block; false, an exception or a decision later than [timeout]
     * rejects the client.
     */
    public fun authorize(decide: Predicate<ClientRequest>): BlockingServerBuilder =
        with { authorize { request -> runInterruptible(VIRTUAL_THREADS) { decide.test(request) } } }

    /**
     * Told why a connection did not come up, or what its handler threw. By default that is logged. Any thread; it must
     * not block.
     */
    public fun onFailure(told: Consumer<Throwable>): BlockingServerBuilder = with { onFailure { told.accept(it) } }

    private fun with(setting: ServerBuilder.() -> Unit): BlockingServerBuilder = apply { settings.add(setting) }

    /**
     * Serves clients at a port of every address from now on, each by [handler] on a virtual thread of its own.
     *
     * @param port 0 is a free one, which [BlockingServer.address] tells
     * @throws org.kverbs.RdmaSystemException EADDRINUSE if the port is taken
     */
    public fun serve(
        port: Int,
        handler: ConnectionHandler,
    ): BlockingServer = serve(host.bind(port, settings), handler)

    /** The same at one address; EADDRNOTAVAIL if it is the address of no RDMA device. */
    public fun serve(
        address: InetSocketAddress,
        handler: ConnectionHandler,
    ): BlockingServer = serve(host.bind(address, settings), handler)

    private fun serve(
        server: RdmaServer,
        handler: ConnectionHandler,
    ) = BlockingServer(server, handler)
}
