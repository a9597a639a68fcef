package org.kverbs.coroutines

import org.kverbs.QueuePair
import org.kverbs.RdmaException
import org.kverbs.RdmaSystemException
import org.kverbs.cm.ConnectionEvent
import org.kverbs.cm.ConnectionEventType.DISCONNECTED
import org.kverbs.cm.ConnectionEventType.ESTABLISHED
import org.kverbs.cm.ConnectionException
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.ConnectionStep
import org.kverbs.cm.PortSpace
import org.kverbs.dsl.RC
import org.kverbs.dsl.RcVerbs
import org.kverbs.internal.jfr.FlightRecords
import java.net.InetSocketAddress
import java.util.concurrent.atomic.AtomicBoolean
import kotlin.time.Duration

/**
 * A peer's request for a connection, or for a datagram service. Accept or reject it once; the peer waits for the
 * answer, but not for ever.
 */
public class ConnectionRequest internal constructor(
    internal val host: RdmaHost,
    internal val steps: ConnectionSteps,
    private val event: ConnectionEvent,
) {
    private val isAnswered = AtomicBoolean()

    /** The private data of the peer's request; on InfiniBand and RoCE followed by zeros. */
    public val privateData: ByteArray = event.privateData()

    /** The peer's address and port. */
    public val remoteAddress: InetSocketAddress? = steps.remoteAddress

    /** The address and port of this machine that the peer connects to. */
    public val localAddress: InetSocketAddress? = steps.localAddress

    /** How many reads and atomics at once the peer wants this side to serve, and wants to keep in flight itself. */
    public val parameters: ConnectionParameters =
        ConnectionParameters.DEFAULTS.withReads(event.initiatorDepth(), event.responderResources())

    /**
     * Accepts the request, and suspends until the peer is ready. The peer can send at once: post receives in
     * [ConnectionBuilder.prepared]. Over iWARP this side must not send before the peer's first message has arrived (RFC
     * 5044, section 7.1.2); a message channel observes that itself.
     *
     * @throws IllegalStateException if the request is for datagrams, or was answered before
     * @throws org.kverbs.cm.ConnectionException if the peer is gone, or does not answer in time
     * @throws org.kverbs.RdmaSystemException if the device or its connection manager refuses the [settings]
     */
    public suspend fun accept(settings: ConnectionBuilder.() -> Unit = {}): RdmaConnection {
        val setUp = ConnectionBuilder().apply(settings).setUp(RC)
        return RdmaConnection(host, establish(setUp))
    }

    /** Accepts with a new queue pair; closes everything if that fails. */
    internal suspend fun <T> establish(setUp: SetUp<T>): Established<T> {
        beginAnswer(setUp.portSpace)
        val isDatagram = setUp.portSpace.isDatagram
        val attempt = FlightRecords.beginConnection()
        var made: Established<T>? = null
        try {
            made = Established(steps, host.node(steps.id), setUp)
            made.said = event
            made.prepare()
            val qp = made.queuePair
            steps.id.prepareAll(qp)
            if (!isDatagram) qp.answerSoon()
            steps.id.accept(qp, setUp.parameters(made.node).withinRequest())
            if (!isDatagram) awaitPeer(setUp.timeout)
            attempt?.established(made.node.context.device().name(), qp.number(), remoteAddress, false)
            return made
        } catch (e: Throwable) {
            val fits = made == null || setUp.parameters(made.node).fit()
            val reason = if (fits) steps.meaning(e, ConnectionStep.ACCEPT, remoteAddress, GONE) else e
            attempt?.failed(remoteAddress, false, reason)
            closeAll(steps.id, made, cause = reason)
            throw reason
        }
    }

    /**
     * Waits until the peer is ready. A peer that has disconnected was ready, although the network lost its message
     * about it: what it sent before has arrived. The connection finds its end then.
     */
    private suspend fun awaitPeer(timeout: Duration) {
        val event = steps.await(ConnectionStep.ACCEPT, remoteAddress, timeout, ESTABLISHED, DISCONNECTED)
        if (event.type() == DISCONNECTED) steps.events.trySend(event)
    }

    /** Limits the answer to the reads and atomics of the request: rdma_accept(3). */
    private fun ConnectionParameters.withinRequest() =
        withReads(
            minOf(responderResources(), event.responderResources()),
            minOf(initiatorDepth(), event.initiatorDepth()),
        )

    /** Marks the request as answered. A call of the wrong kind leaves it open for the right one. */
    internal fun beginAnswer(portSpace: PortSpace) {
        val asked = steps.id.portSpace()
        check(asked == portSpace) {
            val what =
                if (asked.isDatagram) "datagrams: answer with acceptDatagrams" else "a connection: answer with accept"
            "${remoteAddress.shown()} asks for $what"
        }
        check(isAnswered.compareAndSet(false, true)) {
            "the request of ${remoteAddress.shown()} was answered already; accept or reject it once"
        }
    }

    /** False if the answer is too long: the kernel ends the connection then, too. */
    private fun ConnectionParameters.fit() = privateData().size <= ANSWER

    /** Rejects the request if it was not answered. */
    internal fun refuse(privateData: ByteArray = ByteArray(0)) {
        if (isAnswered.compareAndSet(false, true)) rejectQuietly(privateData)
    }

    /** Rejects the request, with a reason for the peer: at most 148 bytes. */
    public fun reject(privateData: ByteArray = ByteArray(0)): Unit = steps.id.use { it.reject(privateData) }

    internal fun rejectQuietly(privateData: ByteArray = ByteArray(0)) {
        try {
            reject(privateData)
        } catch (_: RdmaException) {
            // the peer is gone
        } catch (_: IllegalStateException) {
            // the host is closed, and the request with it
        }
    }

    private companion object {
        const val GONE = "the peer has gone: it was closed, or gave up waiting. If it happens often, accept sooner."

        /** Largest private data of an answer on InfiniBand and RoCE, in bytes. */
        const val ANSWER = 196
    }
}
