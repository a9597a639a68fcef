package org.kverbs.coroutines

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.ConnectionEventType
import org.kverbs.QueuePairAttributes
import org.kverbs.QueuePairState
import org.kverbs.RdmaException
import kotlin.time.Duration

/**
 * What ends a connection, and what its end ends.
 *
 * @param onEnd called when the peer has ended it, before what waits on the queue pair is flushed
 */
internal class ConnectionLifetime(
    host: RdmaHost,
    private val connection: Established<*>,
    private val onEnd: () -> Unit = {},
) : AutoCloseable {
    private val steps = connection.steps
    private val ended = CompletableDeferred<Unit>()

    /** False once either side has ended it. */
    val isOpen: Boolean get() = !ended.isCompleted

    init {
        host.scope.launch { watch() }.invokeOnCompletion { ended.wake(Unit) }
    }

    private suspend fun watch() {
        for (event in steps.events) {
            val type = event.type()
            if (type != ConnectionEventType.DISCONNECTED && !type.isError) continue
            onEnd()
            ended.wake(Unit)
            quietly { connection.queuePair.modify(QueuePairAttributes.builder().state(QueuePairState.ERR).build()) }
            quietly { steps.id.disconnect() } // the answer that the peer waits for
            return
        }
    }

    suspend fun awaitEnd() = ended.await()

    suspend fun disconnect(timeout: Duration) {
        quietly { steps.id.disconnect() }
        withTimeoutOrNull(timeout) { ended.await() }
        close()
    }

    override fun close() {
        ended.wake(Unit)
        if (steps.id.isOpen) quietly { steps.id.disconnect() }
        waking { steps.events.close() }
        closeAll(steps.id, connection)
    }

    /** What is refused here has happened already: the peer was faster, or somebody has closed it. */
    private inline fun quietly(step: () -> Unit) {
        try {
            step()
        } catch (_: RdmaException) {
        } catch (_: IllegalStateException) {
        }
    }
}
