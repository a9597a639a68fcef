package org.kverbs.coroutines

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.RdmaException
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.cm.ConnectionEventType
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/**
 * What ends a connection, and what its end ends.
 *
 * @param onEnd called when the peer has ended it, before what waits on the queue pair is flushed
 * @param onFlushed called when the device has had time to flush it. Soft-RoCE never flushes receives that are posted in
 *     the error state (IBA C10-42 wants it to), and soft-iWARP sends neither, which it can enter before anybody here
 *     knows of the end
 */
internal class ConnectionLifetime(
    host: RdmaHost,
    private val connection: Established<*>,
    private val onEnd: () -> Unit = {},
    private val onFlushed: () -> Unit,
) : AutoCloseable {
    private val steps = connection.steps
    private val ended = CompletableDeferred<Unit>()

    /** False once either side has ended it. */
    val isOpen: Boolean get() = !ended.isCompleted

    private val watching = host.scope.launch { watch() }

    init {
        watching.invokeOnCompletion { ended.wake(Unit) }
    }

    private suspend fun watch() {
        for (event in steps.events) {
            val type = event.type()
            if (type != ConnectionEventType.DISCONNECTED && !type.isError) continue
            onEnd()
            ended.wake(Unit)
            quietly { connection.queuePair.modify(QueuePairAttributes.builder().state(QueuePairState.ERR).build()) }
            quietly { steps.id.disconnect() } // the answer that the peer waits for
            delay(FLUSHED)
            onFlushed()
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
        watching.cancel()
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

    private companion object {
        /** How long a device has to flush what is posted: none that works takes nearly as much. */
        val FLUSHED = 1.seconds
    }
}
