package org.kverbs.coroutines

import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.getOrElse
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.receiveAsFlow
import org.kverbs.cm.ConnectionId
import java.net.InetSocketAddress

/** Takes requests for connections at an address. Made by [RdmaHost.listen]; any thread. */
public class RdmaListener internal constructor(
    private val id: ConnectionId,
    backlog: Int,
) : AutoCloseable {
    private val requests = Channel<ConnectionRequest>(backlog, onUndeliveredElement = { it.rejectQuietly() })

    /** Where it listens, with the port that it got. */
    public val address: InetSocketAddress get() =
        checkNotNull(
            id.localAddress(),
        ) { "${id.describe()} has no IP address" }

    internal fun offer(request: ConnectionRequest): Boolean = requests.trySend(request).isSuccess

    /**
     * Suspends until somebody asks for a connection. The caller accepts or rejects it; who asks waits meanwhile.
     *
     * @throws IllegalStateException if the listener or its host is closed
     */
    public suspend fun request(): ConnectionRequest {
        val next = requests.receiveCatching()
        return next.getOrElse { throw checkNotNull(it).calledHere() }
    }

    /** The same, but null if this side has closed the listener or its host. */
    internal suspend fun requestOrNull(): ConnectionRequest? {
        val next = requests.receiveCatching()
        next.exceptionOrNull()?.let { if (it.cause != null) throw it } // events can't be taken any more
        return next.getOrNull()
    }

    /** The requests as they come. Ends by an IllegalStateException when the listener is closed. */
    public fun requests(): Flow<ConnectionRequest> = requests.receiveAsFlow()

    /** Suspends until somebody asks, and accepts that; errors as [ConnectionRequest.accept]. */
    public suspend fun accept(settings: ConnectionBuilder.() -> Unit = {}): RdmaConnection = request().accept(settings)

    internal fun end(cause: Throwable) {
        requests.close(cause)
        while (true) (requests.tryReceive().getOrNull() ?: return).rejectQuietly()
    }

    /** Takes no more requests, and rejects those that wait. Connections stay. */
    override fun close(): Unit = id.close()
}
