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
 * Serves messages at an address. Made by [RdmaHost.bind]; any thread.
 *
 * ```
 * host.bind(7471) { maxConnections(100) }.use { server ->
 *     server.serve(this) { connection -> for (message in connection.incoming) connection.send(message) }.join()
 * }
 * ```
 *
 * **Ownership.** It belongs to its host. [close] closes its connections.
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

    /** Where it listens, with the port that it got. */
    public val address: InetSocketAddress = listener.address

    /** The connections that are up: a view, which changes with them. */
    public val connections: Collection<MessageConnection> = Collections.unmodifiableCollection(reception.open)

    /** What it has done, and what it holds now. */
    public val stats: ServerStats get() = reception.stats

    /**
     * Completes when [stop] or [close] is called. A handler that waits for messages can wait for this, too, and return
     * before the deadline of [stop]; its client is then told that no more messages come:
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
     * Runs [handler] for each connection in a coroutine of its own, until the job is cancelled, or the server is
     * stopped or closed. The handlers are children of the job and run concurrently, on many threads
     * ([ServerBuilder.handlers]): what they share must be safe for that.
     *
     * When a handler returns its connection is disconnected ([MessageConnection.disconnect]). When it throws, whatever
     * that is, its connection is closed, [ServerBuilder.onFailure] is told, and the others live on. An [Error], such as
     * an assertion that failed, is told to the CoroutineExceptionHandler of the handlers' context, too.
     *
     * @return ends when the server or its host is stopped or closed, which does not fail [scope]. Once it ends the
     *   server is closed
     * @throws IllegalStateException if it was called before
     */
    public fun serve(
        scope: CoroutineScope,
        handler: suspend CoroutineScope.(MessageConnection) -> Unit,
    ): Job {
        check(isServing.compareAndSet(false, true)) { "the server at ${address.shown()} is served already" }
        val job = scope.launch(settings.handlers ?: host.context) { takeRequests(handler) }
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
            // An assertion that failed in a handler has a test fail, though the server goes on.
            if (e is Error) currentCoroutineContext().let { it[CoroutineExceptionHandler]?.handleException(it, e) }
        }
    }

    /**
     * Takes no more clients, tells the handlers ([stopping]), suspends until they have ended or [deadline] is over, and
     * closes. Handlers that have not ended by then are cancelled, and waited for without a limit: one that ignores its
     * cancellation, as a blocking call does, keeps this from returning, and a second later a warning in the
     * [System.Logger] `org.kverbs.coroutines` names its client. `withTimeoutOrNull(30.seconds) { server.stop() }` waits
     * no longer than that; the server is closed then, too.
     */
    public suspend fun stop(deadline: Duration = 10.seconds) {
        try {
            stops.complete()
            listener.close()
            withTimeoutOrNull(deadline) { serving?.join() }
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

    /** Takes no more clients, cancels the handlers, and closes the connections now. */
    override fun close() {
        isClosed = true
        stops.complete()
        serving?.cancel()
        closeAll(listener, *reception.open.toTypedArray())
    }

    /** Names the address that it listens at. */
    override fun toString(): String = "server at ${address.shown()}"

    private companion object {
        /** How long handlers that were cancelled may take to end before the log says so. */
        val PATIENCE = 1.seconds

        /** How many clients the log names. */
        const val SHOWN = 5
    }
}

/**
 * Makes a server of messages at an address. It takes clients from now on, who wait until it serves them
 * ([RdmaServer.serve]).
 *
 * @param address a wildcard takes connections at every address; port 0 is a free one, which [RdmaServer.address] tells
 * @throws IllegalArgumentException if the limits contradict each other
 * @throws org.kverbs.RdmaSystemException EADDRINUSE if the port is taken, EADDRNOTAVAIL for an address of no RDMA
 *   device
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
 * Makes a server of messages at a port of every address, of IPv4 and IPv6, or with iWARP devices of IPv4 alone; as
 * above.
 */
public fun RdmaHost.bind(
    port: Int,
    settings: ServerBuilder.() -> Unit = {},
): RdmaServer = bind(everywhere(port), settings)
