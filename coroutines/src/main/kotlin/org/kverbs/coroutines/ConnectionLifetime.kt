package org.kverbs.coroutines

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.RdmaException
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.cm.ConnectionEventType
import org.kverbs.internal.jfr.FlightRecords
import java.net.InetSocketAddress
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/**
 * Watches for the end of a connection, and ends everything that depends on it.
 *
 * @param onEnd called when the peer has ended the connection, before the requests of the queue pair are flushed
 * @param onFlushed called when the device has had time to flush the requests. Soft-RoCE seldom flushes receives that
 *   are posted in the error state (against IBA C10-42). Soft-iWARP does not flush such sends either, and can enter the
 *   error state before this side knows of the end
 */
internal class ConnectionLifetime(
    host: RdmaHost,
    private val connection: Established<*>,
    private val onEnd: () -> Unit = {},
    private val onFlushed: () -> Unit,
) : AutoCloseable {
    private val steps = connection.steps
    private val began = System.nanoTime()

    @Volatile
    private var isEndedHere = false
    private val ended = CompletableDeferred<Unit>()

    /** False once either side has ended the connection. */
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
            var peer: InetSocketAddress? = null
            quietly { peer = steps.remoteAddress } // before the wake-up: the program can close the id then
            ended.wake(Unit)
            if (!isEndedHere) quietly { recordLoss(type, peer) } // a close has begun, perhaps
            quietly { connection.queuePair.modify(QueuePairAttributes.builder().state(QueuePairState.ERR).build()) }
            quietly { steps.id.disconnect() } // the peer waits for this answer
            delay(FLUSHED)
            onFlushed()
            return
        }
    }

    private fun recordLoss(
        type: ConnectionEventType,
        peer: InetSocketAddress?,
    ) {
        val alive = System.nanoTime() - began
        val device = connection.node.context.device().name()
        val number = connection.queuePair.number()
        FlightRecords.connectionLost(device, number, peer, alive, type.name)
    }

    /** Notes that this side has asked for the end, so that an end by the peer is no loss from now on. */
    fun endsHere() {
        isEndedHere = true
    }

    suspend fun awaitEnd() = ended.await()

    suspend fun disconnect(timeout: Duration) {
        endsHere()
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

    /** Runs a step, and ignores a refusal: the peer has ended the connection, or another thread has closed it. */
    private inline fun quietly(step: () -> Unit) {
        try {
            step()
        } catch (_: RdmaException) {
        } catch (_: IllegalStateException) {
        }
    }

    private companion object {
        /** Time for a device to flush its requests: no working device takes nearly as long. */
        val FLUSHED = 1.seconds
    }
}
