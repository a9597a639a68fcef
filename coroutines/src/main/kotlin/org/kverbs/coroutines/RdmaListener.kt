package org.kverbs.coroutines

import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.getOrElse
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.receiveAsFlow
import org.kverbs.cm.ConnectionId
import java.net.InetSocketAddress

/** Takes connection requests at an address. [RdmaHost.listen] creates it. Any thread can call. */
public class RdmaListener internal constructor(
    private val id: ConnectionId,
    backlog: Int,
) : AutoCloseable {
    private val requests = Channel<ConnectionRequest>(backlog, onUndeliveredElement = { it.rejectQuietly() })

    /** The address that the listener listens at, with the port that it got. */
    public val address: InetSocketAddress get() =
        checkNotNull(
            id.localAddress(),
        ) { "${id.describe()} has no IP address" }

    internal fun offer(request: ConnectionRequest): Boolean = requests.trySend(request).isSuccess

    /**
     * Suspends until a request comes. The caller accepts or rejects it; the peer waits for the answer.
     *
     * @throws IllegalStateException if the listener or its host is closed
     */
    public suspend fun awaitRequest(): ConnectionRequest {
        val next = requests.receiveCatching()
        return next.getOrElse { throw checkNotNull(it).calledHere() }
    }

    /** Suspends until a request comes; null if this side has closed the listener or its host. */
    internal suspend fun requestOrNull(): ConnectionRequest? {
        val next = requests.receiveCatching()
        next.exceptionOrNull()?.let { if (it.cause != null) throw it } // the host can no longer take events
        return next.getOrNull()
    }

    /**
     * Returns the requests as they come. Several collectors, and callers of `request`, share them: each request goes to
     * one. The flow fails with IllegalStateException when the listener is closed.
     */
    public fun requests(): Flow<ConnectionRequest> = requests.receiveAsFlow()

    /** Suspends until a request comes, and accepts it; errors as [ConnectionRequest.accept]. */
    public suspend fun accept(settings: ConnectionBuilder.() -> Unit = {}): RdmaConnection =
        awaitRequest().accept(settings)

    internal fun end(cause: Throwable) {
        requests.close(cause)
        while (true) (requests.tryReceive().getOrNull() ?: return).rejectQuietly()
    }

    /** Stops listening, and rejects the requests that wait. Connections stay open. */
    override fun close(): Unit = id.close()
}
