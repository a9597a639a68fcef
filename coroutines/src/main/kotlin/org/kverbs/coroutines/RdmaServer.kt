package org.kverbs.coroutines

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineExceptionHandler
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.isActive
import kotlinx.coroutines.launch
import kotlinx.coroutines.supervisorScope
import kotlinx.coroutines.withTimeoutOrNull
import java.net.InetSocketAddress
import java.util.Collections
import java.util.concurrent.atomic.AtomicBoolean
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/**
 * Serves message connections at an address. [RdmaHost.bind] creates it.
 *
 * ```
 * host.bind(7471) { maxConnections(100) }.use { server ->
 *     server.serve(this) { connection -> for (message in connection.incoming) connection.send(message) }.join()
 * }
 * ```
 *
 * **Threads.** Any thread can call.
 *
 * **Ownership.** The server belongs to its host. [close] closes its connections.
 */
public class RdmaServer internal constructor(
    private val host: RdmaHost,
    private val listener: RdmaListener,
    private val settings: ServerBuilder,
    private val reception: Reception,
) : AutoCloseable {
    private val isServing = AtomicBoolean()
    private val stops = Job()

    @Volatile
    private var serving: Job? = null

    @Volatile
    private var isClosed = false

    /** The address that the server listens at, with the port that it got. */
    public val address: InetSocketAddress = listener.address

    /** The open connections: a live view. */
    public val connections: Collection<MessageConnection> = Collections.unmodifiableCollection(reception.open)

    /** The counts of what the server has done so far, and what it holds now. */
    public val stats: ServerStats get() = reception.stats

    /**
     * Completes when [stop] or [close] is called. A handler can wait for a message and for this at once, and return
     * before the timeout of [stop]; its client then sees the orderly end of the messages:
     *
     * ```
     * while (true) {
     *     val question =
     *         select<ByteArray?> {
     *             connection.incoming.onReceiveCatching { it.getOrNull() }
     *             server.stopping.onJoin { null }
     *         } ?: break
     *     connection.send(answer(question))
     * }
     * ```
     */
    public val stopping: Job get() = stops

    /**
     * Runs [handler] for each connection in a coroutine of its own, until the job is cancelled or the server is stopped
     * or closed. The handlers are children of the job and run concurrently, on many threads
     * ([ServerBuilder.handlerContext]): state that they share must be thread-safe.
     *
     * When a handler returns, the server disconnects its connection ([MessageConnection.disconnect]). When a handler
     * throws, the server closes its connection and calls [ServerBuilder.onFailure]; the other connections live on. An
     * [Error], such as a failed assertion, also goes to the CoroutineExceptionHandler of the handlers' context.
     *
     * @return a job that ends when the server or its host is stopped or closed, without failing [scope]. When the job
     *   ends, the server is closed
     * @throws IllegalStateException if the server is served already
     */
    public fun serve(
        scope: CoroutineScope,
        handler: suspend CoroutineScope.(MessageConnection) -> Unit,
    ): Job {
        check(isServing.compareAndSet(false, true)) {
            "the server at ${address.shown()} is served already; call serve once, or bind another server"
        }
        val job = scope.launch(settings.handlerContext ?: host.context) { takeRequests(handler) }
        serving = job
        if (isClosed) job.cancel()
        job.invokeOnCompletion { close() }
        return job
    }

    private suspend fun takeRequests(handler: suspend CoroutineScope.(MessageConnection) -> Unit) =
        coroutineScope {
            val watch = settings.idleTimeout?.let { launch { IdleWatch(it, reception.open).watch() } }
            supervisorScope {
                while (true) {
                    val request = listener.requestOrNull() ?: break
                    launch { serve(request, handler) }.invokeOnCompletion { request.refuse() }
                }
            }
            watch?.cancel()
        }

    private suspend fun serve(
        request: ConnectionRequest,
        handler: suspend CoroutineScope.(MessageConnection) -> Unit,
    ) {
        try {
            reception.admitted(request) { connection ->
                coroutineScope { handler(connection) }
                connection.disconnect()
            }
        } catch (e: Throwable) {
            if (e is CancellationException && !currentCoroutineContext().isActive) throw e // the server ends
            reception.failed(request, e)
            // A failed assertion in a handler must fail the test, although the server goes on.
            if (e is Error) currentCoroutineContext().let { it[CoroutineExceptionHandler]?.handleException(it, e) }
        }
    }

    /**
     * Stops taking clients, tells the handlers ([stopping]), suspends until they have ended or [timeout] is over, and
     * closes the server. Then cancels the handlers that still run, and waits for them without a limit. A handler that
     * ignores its cancellation, as a blocking call does, delays the return; after one second the [System.Logger]
     * `org.kverbs.coroutines` warns and names its client. `withTimeoutOrNull(30.seconds) { server.stop() }` waits at
     * most 30 s; the server is closed then, too.
     */
    public suspend fun stop(timeout: Duration = 10.seconds) {
        try {
            stops.complete()
            listener.close()
            withTimeoutOrNull(timeout) { serving?.join() }
        } finally {
            close()
        }
        awaitHandlers()
    }

    private suspend fun awaitHandlers() {
        val handlers = serving ?: return
        withTimeoutOrNull(PATIENCE) { handlers.join() } ?: FailureLog.warn(
            "$this was stopped, and does not end: a handler ignores that it was cancelled $PATIENCE ago, " +
                "of the clients " + reception.open.joinToString(limit = SHOWN) { it.remoteAddress.shown() },
        )
        handlers.join()
    }

    /** Stops taking clients, cancels the handlers, and closes the connections now. */
    override fun close() {
        isClosed = true
        stops.complete()
        serving?.cancel()
        closeAll(listener, *reception.open.toTypedArray())
    }

    /** Names the server's address. */
    override fun toString(): String = "server at ${address.shown()}"

    private companion object {
        /** Time for cancelled handlers to end before the log warns. */
        val PATIENCE = 1.seconds

        /** Number of clients that the log names. */
        const val SHOWN = 5
    }
}

/**
 * Binds a server of message connections to an address. Clients can connect from now on; they wait until
 * [RdmaServer.serve] serves them.
 *
 * @param address a wildcard address takes connections at every address; port 0 takes a free port, see
 *   [RdmaServer.address]
 * @throws IllegalArgumentException if the limits contradict each other
 * @throws org.kverbs.RdmaSystemException EADDRINUSE if the port is in use, EADDRNOTAVAIL if no RDMA device has the
 *   address
 */
public fun RdmaHost.bind(
    address: InetSocketAddress,
    settings: ServerBuilder.() -> Unit = {},
): RdmaServer {
    val chosen = ServerBuilder().apply(settings)
    val reception = Reception(this, chosen) // refuses settings that contradict each other
    return RdmaServer(this, listen(address), chosen, reception)
}

/**
 * Binds a server of message connections to a port of every address, IPv4 and IPv6; on a machine with iWARP devices IPv4
 * alone. Otherwise as above.
 */
public fun RdmaHost.bind(
    port: Int,
    settings: ServerBuilder.() -> Unit = {},
): RdmaServer = bind(everywhere(port), settings)
