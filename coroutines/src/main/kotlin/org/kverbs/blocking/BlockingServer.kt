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
 * Serves messages at an address, each connection on a virtual thread of its own. Made by [BlockingHost.serve] and
 * [BlockingServerBuilder.serve]; any thread.
 *
 * When the handler of a connection returns, the connection is disconnected. When it throws, its connection is closed,
 * the server's `onFailure` is told, and the others live on.
 *
 * **Ownership.** It belongs to its host. [close] ends its handlers.
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

    /** Where it listens, with the port that it got. */
    public fun address(): InetSocketAddress = server.address

    /** How many connections are up. */
    public fun connections(): Int = server.connections.size

    /** Whether [stop] or [close] was called. A handler asks its connection ([BlockingConnection.isStopping]). */
    public fun isStopping(): Boolean = server.stopping.isCompleted

    /** Waits until the server was stopped or closed, and its handlers have ended. */
    @Throws(InterruptedException::class)
    public fun awaitEnd(): Unit = blocking { serving.join() }

    /**
     * Takes no more clients, tells the handlers ([BlockingConnection.receiveUnlessStopping]), waits until they have
     * ended or [deadline] is over, interrupts those that have not, and closes. It returns when all have ended: one that
     * ignores the interrupt is waited for without a limit, and a second later a warning in the [System.Logger]
     * `org.kverbs.coroutines` names its client.
     *
     * @throws InterruptedException if the thread is interrupted; the server is closed then
     */
    @Throws(InterruptedException::class)
    public fun stop(deadline: Duration): Unit = blocking { server.stop(deadline.toKotlinDuration()) }

    /**
     * Takes no more clients, interrupts the handlers and closes the connections now; does not wait for the handlers.
     */
    override fun close(): Unit = server.close()

    /** Names the address that it listens at. */
    override fun toString(): String = server.toString()
}
