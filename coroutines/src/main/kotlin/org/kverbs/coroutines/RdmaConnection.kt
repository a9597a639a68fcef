package org.kverbs.coroutines

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.ConnectionEventType
import org.kverbs.ProtectionDomain
import org.kverbs.QueuePair
import org.kverbs.QueuePairAttributes
import org.kverbs.QueuePairState
import org.kverbs.RdmaException
import org.kverbs.dsl.RcVerbs
import java.net.InetSocketAddress
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/**
 * A connection to a peer: a queue pair with suspend functions, and its end. Any thread.
 *
 * **End.** When the peer disconnects or its program ends, everything that waits fails with
 * [org.kverbs.WorkCompletionException], flushed. The kernel tells of its devices' programs however they end; an embedded device tells of its
 * process's exit (a return from main, System.exit, SIGTERM), and no more. Of a host that loses power or its network, and of an embedded
 * device's process that is killed (`kill -9`), nothing is heard: RC has no keep-alive. Whoever sends notices, as the device tries for a
 * while and then fails the send; who only receives never does. So send now and then, or wait in [kotlinx.coroutines.withTimeout].
 */
public class RdmaConnection internal constructor(
    host: RdmaHost,
    private val steps: ConnectionSteps,
    /** The device it is on. */
    public val node: RdmaNode,
    /** Sends, receives, writes, reads and does atomics. */
    public val queuePair: AsyncQueuePair<RcVerbs>,
    private val peerData: ByteArray,
) : AutoCloseable {
    private val lifetime = ConnectionLifetime(host, steps, queuePair.queuePair)

    /** Where to register memory for it. */
    public val pd: ProtectionDomain get() = node.pd

    /** What the peer gave along when the connection was made, with zeros behind it on InfiniBand and RoCE. */
    public val privateData: ByteArray get() = peerData.clone()

    /** The peer's address and port. */
    public val peerAddress: InetSocketAddress? = steps.address

    /** This side's address and port. */
    public val localAddress: InetSocketAddress? = if (steps.id.isOpen) steps.id.localAddress() else null

    /** Suspends until the connection has ended, by either side. */
    public suspend fun awaitEnd(): Unit = lifetime.awaitEnd()

    /** Ends the connection, and suspends until the peer has taken notice or [timeout] is over; then closes it. */
    public suspend fun disconnect(timeout: Duration = 5.seconds): Unit = lifetime.disconnect(timeout)

    /** Ends the connection and closes its queue pair; the peer is told. */
    override fun close(): Unit = lifetime.close()

    override fun toString(): String = "connection of ${queuePair.queuePair.describe()} to $peerAddress"
}

/**
 * What ends a connection, and what its end ends.
 *
 * @param onEnd called when the peer has ended it, before what waits on the queue pair is flushed
 */
internal class ConnectionLifetime(
    host: RdmaHost,
    private val steps: ConnectionSteps,
    private val queuePair: QueuePair,
    private val onEnd: () -> Unit = {},
) : AutoCloseable {
    private val ended = CompletableDeferred<Unit>()

    init {
        host.scope.launch { watch() }.invokeOnCompletion { ended.complete(Unit) }
    }

    private suspend fun watch() {
        for (event in steps.events) {
            val type = event.type()
            if (type != ConnectionEventType.DISCONNECTED && !type.isError) continue
            onEnd()
            ended.complete(Unit)
            quietly { queuePair.modify(QueuePairAttributes.builder().state(QueuePairState.ERR).build()) }
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
        ended.complete(Unit)
        if (steps.id.isOpen) quietly { steps.id.disconnect() }
        steps.events.close()
        closeAll(steps.id, queuePair)
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
