package org.kverbs.coroutines

import org.kverbs.QueuePair
import org.kverbs.RdmaException
import org.kverbs.RdmaSystemException
import org.kverbs.cm.ConnectionEvent
import org.kverbs.cm.ConnectionEventType.ESTABLISHED
import org.kverbs.cm.ConnectionException
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.ConnectionStep
import org.kverbs.cm.PortSpace
import org.kverbs.dsl.RC
import org.kverbs.dsl.RcVerbs
import java.net.InetSocketAddress
import java.util.concurrent.atomic.AtomicBoolean
import kotlin.time.Duration

/**
 * Somebody asks for a connection, or for a datagram service: accept or reject it, once. Whoever asks waits meanwhile,
 * not for ever.
 */
public class ConnectionRequest internal constructor(
    internal val host: RdmaHost,
    internal val steps: ConnectionSteps,
    private val event: ConnectionEvent,
) {
    private val isAnswered = AtomicBoolean()

    /** What the other side gave along, with zeros behind it on InfiniBand and RoCE. */
    public val privateData: ByteArray = event.privateData()

    /** The address and port of the side that asks. */
    public val remoteAddress: InetSocketAddress? = steps.remoteAddress

    /** The address and port that it asked for. */
    public val localAddress: InetSocketAddress? = steps.localAddress

    /** How many reads and atomics the other side wants served at once, and wants to keep in flight. */
    public val parameters: ConnectionParameters =
        ConnectionParameters.DEFAULTS.withReads(event.initiatorDepth(), event.responderResources())

    /**
     * Accepts, and suspends until the other side is ready. The other side may send at once:
     * [ConnectionBuilder.prepared] is there to post receives before. Over iWARP this side must not send before
     * something has come from the other (RFC 5044, section 7.1.2); a message channel sees to that by itself.
     *
     * @throws IllegalStateException if it asks for datagrams, or was answered already
     * @throws org.kverbs.cm.ConnectionException if the other side has gone meanwhile, or doesn't answer in time
     * @throws org.kverbs.RdmaSystemException if the device or its connection manager refuses the [settings]
     */
    public suspend fun accept(settings: ConnectionBuilder.() -> Unit = {}): RdmaConnection {
        val setUp = ConnectionBuilder().apply(settings).setUp(RC)
        return RdmaConnection(host, establish(setUp))
    }

    /** Accepts with a queue pair of its own; closes all if that fails. */
    internal suspend fun <T> establish(setUp: SetUp<T>): Established<T> {
        beginAnswer(setUp.portSpace)
        val isDatagram = setUp.portSpace.isDatagram
        var made: Established<T>? = null
        try {
            made = Established(steps, host.node(steps.id), setUp)
            made.said = event
            made.prepare()
            val qp = made.queuePair
            steps.id.prepareAll(qp)
            if (!isDatagram) qp.answerSoon()
            steps.id.accept(qp, setUp.parameters(made.node).withinRequest())
            if (!isDatagram) steps.await(ConnectionStep.ACCEPT, remoteAddress, setUp.timeout, ESTABLISHED)
            return made
        } catch (e: Throwable) {
            val fits = made == null || setUp.parameters(made.node).fit()
            val reason = if (fits) steps.meaning(e, ConnectionStep.ACCEPT, remoteAddress, GONE) else e
            closeAll(steps.id, made, cause = reason)
            throw reason
        }
    }

    /** An answer keeps within the reads and atomics of the request: rdma_accept(3). */
    private fun ConnectionParameters.withinRequest() =
        withReads(
            minOf(responderResources(), event.responderResources()),
            minOf(initiatorDepth(), event.initiatorDepth()),
        )

    /** Once. A request that is answered in the wrong way stays open, for the right one. */
    internal fun beginAnswer(portSpace: PortSpace) {
        val asked = steps.id.portSpace()
        check(asked == portSpace) {
            val what = if (asked.isDatagram) "datagrams: acceptDatagrams" else "a connection: accept"
            "${remoteAddress.shown()} asks for $what answers that"
        }
        check(isAnswered.compareAndSet(false, true)) { "the request of ${remoteAddress.shown()} was answered already" }
    }

    /** The kernel ends the connection, too, when it refuses an answer for its length. */
    private fun ConnectionParameters.fit() = privateData().size <= ANSWER

    /** Rejects the request if nobody has answered it. */
    internal fun refuse(privateData: ByteArray = ByteArray(0)) {
        if (isAnswered.compareAndSet(false, true)) rejectQuietly(privateData)
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

    private companion object {
        const val GONE = "the peer has gone: it was closed, or gave up waiting. If it happens often, accept sooner."

        /** Private data of an answer on InfiniBand and RoCE, in bytes. */
        const val ANSWER = 196
    }
}
