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
 * Configures a [BlockingServer]; returned by [BlockingHost.server]. The defaults are those of [ServerBuilder]. One
 * thread at a time can call.
 */
public class BlockingServerBuilder internal constructor(
    private val host: RdmaHost,
) {
    private val settings = Settings(::ServerBuilder)

    /**
     * Sets the number of connections at a time, including those that are being set up. The server rejects further
     * clients.
     */
    public fun maxConnections(count: Int): BlockingServerBuilder = with { maxConnections(count) }

    /**
     * Sets the number of clients at a time that were accepted and have yet to answer. Further clients wait for their
     * turn.
     */
    public fun maxHalfOpen(count: Int): BlockingServerBuilder = with { maxHalfOpen(count) }

    /**
     * Sets the longest message that a client can send, in bytes. A client that announces a longer message loses its
     * connection.
     */
    public fun maxMessageSize(bytes: Long): BlockingServerBuilder = with { maxMessageSize(bytes) }

    /**
     * Limits the bytes that all connections hold together for receive slots and for large messages that were not
     * received yet. The server rejects a client whose slots exceed the limit; a large message that exceeds it waits in
     * its sender's memory.
     */
    public fun maxMemory(bytes: Long): BlockingServerBuilder = with { maxMemory(bytes) }

    /**
     * Limits the bytes of [maxMemory] that one connection holds: at least its slots and one message of
     * [maxMessageSize].
     */
    public fun maxMemoryPerConnection(bytes: Long): BlockingServerBuilder = with { maxMemoryPerConnection(bytes) }

    /**
     * Ends a connection over which nothing came or went for this time; null for never. A handler that works longer on
     * an answer needs a longer time. See [ServerBuilder.idleTimeout].
     */
    public fun idleTimeout(time: Duration?): BlockingServerBuilder = with { idleTimeout(time?.toKotlinDuration()) }

    /** Sets the time without anything from the client after which the server probes it; null for never. */
    public fun keepAlive(interval: Duration?): BlockingServerBuilder = with { keepAlive(interval?.toKotlinDuration()) }

    /** Limits the time for an accepted client to answer, and for [authorize] to decide. */
    public fun timeout(step: Duration): BlockingServerBuilder = with { timeout(step.toKotlinDuration()) }

    /**
     * Sets the predicate that decides whether to accept a client, from its request. It runs before the server allocates
     * anything for the client, on a virtual thread, so that it can block. False, an exception, or a decision later than
     * [timeout] rejects the client.
     */
    public fun authorize(decide: Predicate<ClientRequest>): BlockingServerBuilder =
        with { authorize { request -> runInterruptible(VIRTUAL_THREADS) { decide.test(request) } } }

    /**
     * Sets the function that is called for each failed connection, with the reason for which it was not set up, or the
     * exception of its handler. By default the failure is logged. Called on any thread; must not block.
     */
    public fun onFailure(told: Consumer<Throwable>): BlockingServerBuilder = with { onFailure { told.accept(it) } }

    private fun with(setting: ServerBuilder.() -> Unit): BlockingServerBuilder = apply { settings.add(setting) }

    /**
     * Starts a server at a port of every address; it runs [handler] for each client on a virtual thread of its own.
     *
     * @param port 0 takes a free port, see [BlockingServer.address]
     * @throws org.kverbs.RdmaSystemException EADDRINUSE if the port is in use
     */
    public fun serve(
        port: Int,
        handler: ConnectionHandler,
    ): BlockingServer = serve(host.bind(port, settings), handler)

    /**
     * Starts a server at one address; otherwise as above.
     *
     * @throws org.kverbs.RdmaSystemException EADDRINUSE if the port is in use, EADDRNOTAVAIL if no RDMA device has the
     *   address
     */
    public fun serve(
        address: InetSocketAddress,
        handler: ConnectionHandler,
    ): BlockingServer = serve(host.bind(address, settings), handler)

    private fun serve(
        server: RdmaServer,
        handler: ConnectionHandler,
    ) = BlockingServer(server, handler)
}
