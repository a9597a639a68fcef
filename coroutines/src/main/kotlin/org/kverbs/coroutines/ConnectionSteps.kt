package org.kverbs.coroutines

import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.ClosedReceiveChannelException
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.RdmaSystemException
import org.kverbs.attributes.QueuePairState
import org.kverbs.cm.ConnectionEvent
import org.kverbs.cm.ConnectionEventType
import org.kverbs.cm.ConnectionException
import org.kverbs.cm.ConnectionId
import org.kverbs.cm.ConnectionStep
import org.kverbs.cm.ConnectionTimeoutException
import java.net.InetSocketAddress
import kotlin.time.Duration
import kotlin.time.toJavaDuration

/** A connection id and the events that came for it. One coroutine at a time waits. */
internal class ConnectionSteps(
    val id: ConnectionId,
) {
    /** The peer's address, once it is known. */
    val remoteAddress: InetSocketAddress? get() = if (id.isOpen) id.peerAddress() else null

    /** This side's address, once it is known. */
    val localAddress: InetSocketAddress? get() = if (id.isOpen) id.localAddress() else null

    // few events come for each step, and none without a step
    val events = Channel<ConnectionEvent>(Channel.UNLIMITED)

    /**
     * Waits for the event that ends a step.
     *
     * @throws ConnectionException if the step failed; [ConnectionTimeoutException] if nothing came in time
     * @throws IllegalStateException if the host was closed
     */
    suspend fun await(
        step: ConnectionStep,
        address: InetSocketAddress?,
        timeout: Duration,
        vararg wanted: ConnectionEventType,
    ): ConnectionEvent =
        withTimeoutOrNull(timeout) { next(step, address, wanted) }
            ?: throw ConnectionTimeoutException(step, address, timeout.toJavaDuration())

    private suspend fun next(
        step: ConnectionStep,
        address: InetSocketAddress?,
        wanted: Array<out ConnectionEventType>,
    ): ConnectionEvent {
        while (true) {
            val next = events.receiveCatching()
            if (next.isClosed) {
                throw next.exceptionOrNull()?.calledHere() ?: ClosedReceiveChannelException("$id is closed")
            }
            val event = next.getOrThrow().orThrow()
            if (event.type() in wanted) return event
            if (event.type() == ConnectionEventType.DISCONNECTED) {
                throw ConnectionException(step, address, 0, "the peer disconnected before the connection was up")
            }
        }
    }

    /**
     * The failure that tells the caller most: a ConnectionException with [why] if the manager refused a step because
     * the connection has ended, [failure] itself otherwise. The kernel sends a program that has not accepted no event
     * about the end.
     */
    fun meaning(
        failure: Throwable,
        step: ConnectionStep,
        address: InetSocketAddress?,
        why: String,
    ): Throwable {
        if (failure !is RdmaSystemException || !hasEnded(failure)) return failure
        return ConnectionException(step, address, 0, why).initCause(failure)
    }

    /** The manager has no attributes for a queue pair any more once the connection has ended. */
    private fun hasEnded(failure: RdmaSystemException): Boolean =
        failure.operation().startsWith("rdma_") && failure.errnoName() == INVALID &&
            try {
                id.queuePairAttributes(QueuePairState.INIT)
                false
            } catch (e: RdmaSystemException) {
                e.errnoName() == INVALID
            } catch (_: IllegalStateException) {
                false // the host was closed
            }

    private companion object {
        const val INVALID = "EINVAL"
    }
}
