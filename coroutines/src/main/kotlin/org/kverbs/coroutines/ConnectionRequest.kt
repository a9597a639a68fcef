package org.kverbs.coroutines

import org.kverbs.ConnectionEvent
import org.kverbs.ConnectionEventType.ESTABLISHED
import org.kverbs.ConnectionParameters
import org.kverbs.ConnectionStep
import org.kverbs.PortSpace
import org.kverbs.QueuePair
import org.kverbs.QueuePairState
import org.kverbs.RdmaException
import org.kverbs.dsl.RC
import org.kverbs.dsl.RcVerbs
import java.net.InetSocketAddress
import kotlin.time.Duration

/** Somebody asks for a connection, or for a datagram service: accept or reject it, once. Whoever asks waits meanwhile, not for ever. */
public class ConnectionRequest internal constructor(
    internal val host: RdmaHost,
    internal val steps: ConnectionSteps,
    event: ConnectionEvent,
) {
    /** What the other side gave along, with zeros behind it on InfiniBand and RoCE. */
    public val privateData: ByteArray = event.privateData()

    /** Who asks. */
    public val peerAddress: InetSocketAddress? = steps.address

    /** How many reads and atomics the other side wants served at once, and wants to keep in flight. */
    public val parameters: ConnectionParameters =
        ConnectionParameters.DEFAULTS.withReads(event.initiatorDepth(), event.responderResources())

    /**
     * Accepts, and suspends until the other side is ready. The other side may send at once: [ConnectionSettings.prepared] is there to post
     * receives before.
     *
     * @throws IllegalStateException if it asks for datagrams
     * @throws org.kverbs.ConnectionException if the other side has gone meanwhile, or doesn't answer in time
     */
    public suspend fun accept(settings: ConnectionSettings.() -> Unit = {}): RdmaConnection {
        val chosen = ConnectionSettings().apply(settings)
        lateinit var qp: AsyncQueuePair<RcVerbs>
        val node =
            establish(chosen.parameters(), chosen.timeout, { chosen.prepared(qp) }) { node ->
                qp = node.dispatcher.qp(node.pd, RC, block = chosen.queuePair)
                qp.queuePair
            }
        return RdmaConnection(host, steps, node, qp, privateData)
    }

    /**
     * Accepts with a queue pair that [make] makes, and prepares once it is in INIT; closes all if that fails.
     *
     * @return the device it is on
     */
    internal suspend fun establish(
        parameters: ConnectionParameters,
        timeout: Duration,
        prepared: () -> Unit = {},
        portSpace: PortSpace = PortSpace.TCP,
        make: (RdmaNode) -> QueuePair,
    ): RdmaNode {
        requireAsksFor(portSpace)
        var qp: QueuePair? = null
        try {
            val node = host.node(steps.id)
            qp = make(node)
            steps.id.prepare(qp, QueuePairState.INIT)
            prepared()
            steps.id.prepareAll(qp)
            if (!portSpace.isDatagram) qp.answerSoon()
            steps.id.accept(qp, parameters)
            if (!portSpace.isDatagram) steps.await(ConnectionStep.ACCEPT, peerAddress, timeout, ESTABLISHED)
            return node
        } catch (e: Throwable) {
            closeAll(steps.id, qp, cause = e)
            throw e
        }
    }

    /** A request that is answered in the wrong way stays open, for the right one. */
    internal fun requireAsksFor(portSpace: PortSpace) {
        val asked = steps.id.portSpace()
        check(asked == portSpace) {
            "$peerAddress asks for ${if (asked.isDatagram) "datagrams: acceptDatagrams" else "a connection: accept"} answers that"
        }
    }

    /** Says no, with a reason for the other side: at most 148 bytes. */
    public fun reject(privateData: ByteArray = ByteArray(0)): Unit = steps.id.use { it.reject(privateData) }

    internal fun rejectQuietly(privateData: ByteArray = ByteArray(0)) {
        try {
            reject(privateData)
        } catch (_: RdmaException) {
            // who asked has gone
        } catch (_: IllegalStateException) {
            // the host is closed, and with it the request
        }
    }
}
