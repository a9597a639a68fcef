package org.kverbs.coroutines

import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.PortSpace
import org.kverbs.dsl.QueuePairSettings
import org.kverbs.dsl.RdmaDsl
import org.kverbs.dsl.Transport
import org.kverbs.dsl.Verbs
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/** How one side of a connection is made. Mutable within its block. */
@RdmaDsl
public class ConnectionBuilder internal constructor() {
    internal var queuePair: QueuePairSettings.() -> Unit = {}
        private set
    internal var prepared: (AsyncQueuePair<Verbs>) -> Unit = {}
        private set
    internal var timeout: Duration = 10.seconds
        private set
    internal var isShared: Boolean = false
        private set
    private var parameters = ConnectionParameters.DEFAULTS
    private var privateData = ByteArray(0)

    /** The sizes of the queue pair; default is what [QueuePairSettings] says. It needs no completion queue. */
    public fun queuePair(block: QueuePairSettings.() -> Unit) {
        queuePair = block
    }

    /**
     * Called when the queue pair can take receives, and before the other side can send: for the first receives, by
     * [postReceive]. A message that finds no receive is tried again on InfiniBand and RoCE, ends the connection on
     * iWARP, and as a datagram is lost. It must not block; what it throws ends the connecting.
     */
    public fun prepared(block: (queuePair: AsyncQueuePair<Verbs>) -> Unit) {
        prepared = block
    }

    /** How long each step may take: finding the address, the route, and the peer's answer. Default 10 s. */
    public fun timeout(step: Duration) {
        require(step.isPositive()) { "timeout is $step; a step needs time" }
        timeout = step
    }

    /**
     * Makes the queue pair in the device's domain, [RdmaNode.pd], and not in one of its own. Memory that was registered
     * there once serves all connections that ask for this. The price: a peer reaches the memory of all of them whose
     * key it knows or guesses. Datagrams always do so.
     */
    public fun sharedDomain() {
        isShared = true
    }

    /**
     * Bytes for the other side, which comes to see them before it accepts, or when it is connected: at most 56 to ask,
     * 196 to answer.
     */
    public fun privateData(bytes: ByteArray) {
        privateData = bytes.clone()
    }

    /**
     * Reads, retries and the like; default [ConnectionParameters.DEFAULTS]. An answer has at most the reads and atomics
     * of the request.
     */
    public fun parameters(parameters: ConnectionParameters) {
        this.parameters = parameters
    }

    internal fun <V : Verbs> setUp(
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
            prepared = prepared,
        )
}
