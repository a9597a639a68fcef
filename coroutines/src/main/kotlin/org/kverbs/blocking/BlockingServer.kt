package org.kverbs.blocking

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.runInterruptible
import org.kverbs.coroutines.RdmaServer
import org.kverbs.coroutines.blocking
import java.net.InetSocketAddress
import java.time.Duration
import kotlin.time.toKotlinDuration

/**
 * Serves message connections at an address, each on a virtual thread of its own. [BlockingHost.serve] and
 * [BlockingServerBuilder.serve] create it. Any thread can call.
 *
 * When a handler returns, the server disconnects its connection. When a handler throws, the server closes its
 * connection and calls `onFailure`; the other connections live on.
 *
 * **Ownership.** The server belongs to its host. [close] closes its connections and interrupts its handlers.
 */
public class BlockingServer internal constructor(
    private val server: RdmaServer,
    handler: ConnectionHandler,
) : AutoCloseable {
    private val serving: Job =
        server.serve(CoroutineScope(SupervisorJob())) { connection ->
            val blocking = BlockingConnection(connection, server.stopping)
            runInterruptible(VIRTUAL_THREADS) { handler.handle(blocking) }
        }

    /** Returns the address that the server listens at, with the port that it got. */
    public fun address(): InetSocketAddress = server.address

    /** Returns the number of open connections. */
    public fun connectionCount(): Int = server.connections.size

    /**
     * Returns true if [stop] or [close] was called. A handler asks its connection ([BlockingConnection.isStopping]).
     */
    public fun isStopping(): Boolean = server.stopping.isCompleted

    /** Waits until the server is stopped or closed and its handlers have ended. */
    @Throws(InterruptedException::class)
    public fun awaitEnd(): Unit = blocking { serving.join() }

    /**
     * Stops taking clients, tells the handlers ([BlockingConnection.receiveUnlessStopping]), waits until they have
     * ended or [timeout] is over, closes the server, and interrupts the handlers that still run. Returns when all
     * handlers have ended. A handler that ignores the interrupt delays the return; after one second the [System.Logger]
     * `org.kverbs.coroutines` warns and names its client.
     *
     * @throws InterruptedException if the thread is interrupted; the server is closed then
     */
    @Throws(InterruptedException::class)
    public fun stop(timeout: Duration): Unit = blocking { server.stop(timeout.toKotlinDuration()) }

    /**
     * Stops taking clients, interrupts the handlers and closes the connections now; does not wait for the handlers.
     */
    override fun close(): Unit = server.close()

    /** Names the server's address. */
    override fun toString(): String = server.toString()
}
