package org.kverbs.coroutines

import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.PortSpace
import org.kverbs.dsl.QueuePairSettings
import org.kverbs.dsl.RdmaDsl
import org.kverbs.dsl.ReceiveVerbs
import org.kverbs.dsl.Transport
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/** Configures one side of a connection. Mutable within its block. */
@RdmaDsl
public class ConnectionBuilder internal constructor() {
    internal var queuePair: QueuePairSettings.() -> Unit = {}
        private set
    internal var prepared: (AsyncQueuePair<ReceiveVerbs>) -> Unit = {}
        private set
    internal var timeout: Duration = 10.seconds
        private set
    internal var isShared: Boolean = false
        private set
    private var parameters = ConnectionParameters.DEFAULTS
    private var privateData = ByteArray(0)

    /**
     * Configures the queue pair; defaults are those of [QueuePairSettings]. The dispatcher supplies the completion
     * queue.
     */
    public fun queuePair(block: QueuePairSettings.() -> Unit) {
        queuePair = block
    }

    /**
     * Sets a function that posts the first receives with [postReceive]. It runs when the queue pair can take receives
     * and the peer cannot send yet. If a message finds no receive, InfiniBand and RoCE send it again, iWARP ends the
     * connection, and a datagram is lost. The function must not block; its exception ends the attempt to connect.
     */
    public fun prepared(block: (queuePair: AsyncQueuePair<ReceiveVerbs>) -> Unit) {
        prepared = block
    }

    /**
     * Limits the time of each step: to find the address, to find the route, and for the peer's answer. Default 10 s.
     */
    public fun timeout(step: Duration) {
        require(step.isPositive()) { "timeout($step): give a time above 0" }
        timeout = step
    }

    /**
     * Creates the queue pair in the device's domain, [RdmaNode.pd], instead of a domain of its own. Memory that is
     * registered there once serves all connections that share the domain. The price: a peer reaches all remotely
     * accessible memory of the shared domain whose key it knows or guesses. Datagrams always use the device's domain.
     */
    public fun sharedDomain() {
        isShared = true
    }

    /**
     * Sets bytes for the peer, who gets them with the request or the answer: at most 56 in a request, 196 in an answer.
     */
    public fun privateData(bytes: ByteArray) {
        privateData = bytes.clone()
    }

    /**
     * Sets the number of reads in flight, retries and the like; default [ConnectionParameters.DEFAULTS]. An answer is
     * limited to the reads and atomics of the request.
     */
    public fun parameters(parameters: ConnectionParameters) {
        this.parameters = parameters
    }

    internal fun <V : ReceiveVerbs> setUp(
        transport: Transport<V>,
        portSpace: PortSpace = PortSpace.TCP,
    ): SetUp<AsyncQueuePair<V>> =
        SetUp(
            { if (privateData.isEmpty()) parameters else parameters.withPrivateData(privateData) },
            timeout,
            isShared,
            portSpace,
            make = { node, pd -> node.dispatcher.qp(pd, transport, block = queuePair) },
            queuePair = { it.queuePair },
            prepared = { qp, peer ->
                qp.sends.failures.peer = peer.takeUnless { portSpace.isDatagram } // datagrams have many peers
                prepared(qp)
            },
        )
}
