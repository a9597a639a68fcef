package org.kverbs.coroutines

import org.kverbs.ProtectionDomain
import org.kverbs.cm.ConnectionId
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.PortSpace
import org.kverbs.dsl.DatagramVerbs
import org.kverbs.dsl.Destination
import org.kverbs.dsl.UD
import java.lang.foreign.MemorySegment
import java.net.InetSocketAddress

/**
 * A datagram queue pair that was made known by an address and a port: the connection manager told who asked its number
 * and key (SIDR, IBA volume 1, section 12.11). Nothing is connected: datagrams may be lost, any other queue pair that
 * knows them may send, and nobody hears of the other side's end. Any thread.
 *
 * **Ownership.** [close] closes the queue pair and [service]. Destinations that [sender] makes are the caller's.
 */
public class RdmaDatagrams internal constructor(
    private val id: ConnectionId,
    /** The device it is on. */
    public val node: RdmaNode,
    /** Sends and receives. What is received has the 40 bytes of the global routing header before it. */
    public val queuePair: AsyncQueuePair<DatagramVerbs>,
    private val peerData: ByteArray,
    /**
     * Where the service is that was asked for. Null on the side that was asked, which a request doesn't tell who will
     * send: see [sender].
     */
    public val service: Destination?,
) : AutoCloseable {
    private val port = id.port()
    private val qkey = queuePair.queuePair.query().qkey()

    /** Where to register memory for it. */
    public val pd: ProtectionDomain get() = node.pd

    /** What the other side gave along, with zeros behind it. */
    public val privateData: ByteArray get() = peerData.clone()

    /**
     * Where a datagram came from, to answer it. The sender's key is taken to be this side's, as all have that the
     * connection manager sets up.
     *
     * @param buffer what it was received into, from its first byte on
     * @throws IllegalArgumentException if the device gave no routing header
     */
    public fun sender(
        received: Received,
        buffer: MemorySegment,
    ): Destination {
        val completion =
            requireNotNull(received.completion) { "$received has no global routing header, and so no sender" }
        return Destination(pd.addressHandle(port, completion, buffer), received.sourceQueuePair, qkey)
    }

    /** Ends the service and closes its queue pair; waits end with an exception. */
    override fun close(): Unit = closeAll(service, queuePair, id)

    /** Names the queue pair. */
    override fun toString(): String = "datagrams of ${queuePair.queuePair.describe()}"
}

/**
 * Asks for the datagram service at an address, and suspends until that is found.
 *
 * @throws org.kverbs.cm.ConnectionRejectedException if the other side says no, with what it says; nobody
 *     listening is one
 *     too
 * @throws org.kverbs.cm.ConnectionTimeoutException if a step takes longer than [ConnectionBuilder.timeout]
 * @throws org.kverbs.cm.ConnectionException if the network can't; names the step and the address
 */
public suspend fun RdmaHost.connectDatagrams(
    address: InetSocketAddress,
    settings: ConnectionBuilder.() -> Unit = {},
): RdmaDatagrams {
    val made = establish(address, ConnectionBuilder().apply(settings).setUp(UD, PortSpace.UDP))
    val answer = made.said
    try {
        val path = made.pd.addressHandle(checkNotNull(answer.address()) { "$answer has no address" })
        val service = Destination(path, answer.queuePairNumber(), answer.qkey())
        return RdmaDatagrams(made.steps.id, made.node, made.value, answer.privateData(), service)
    } catch (e: RuntimeException) {
        closeAll(made.steps.id, made, cause = e)
        throw e
    }
}

/**
 * Answers a request that came to a listener of [PortSpace.UDP] with a queue pair of its own. The other side may send at
 * once: what it sends before [ConnectionBuilder.prepared] has posted receives is lost.
 *
 * @throws IllegalStateException if it asks for a connection
 * @throws org.kverbs.RdmaSystemException if the device refuses, or the host was closed
 */
public suspend fun ConnectionRequest.acceptDatagrams(settings: ConnectionBuilder.() -> Unit = {}): RdmaDatagrams {
    val made = establish(ConnectionBuilder().apply(settings).setUp(UD, PortSpace.UDP))
    return RdmaDatagrams(made.steps.id, made.node, made.value, privateData, null)
}

/**
 * Answers a request with the queue pair of an earlier one, so that one serves all who ask. Nothing is left open of the
 * request.
 *
 * @param datagrams what [acceptDatagrams] made of the earlier request
 * @param privateData bytes for who asks, at most 136
 * @throws IllegalStateException if it asks for a connection, or was answered already
 * @throws IllegalArgumentException if it came to another device than [datagrams] is on; the request is closed then
 * @throws org.kverbs.RdmaSystemException if the device refuses, or the host was closed
 */
public fun ConnectionRequest.acceptDatagrams(
    datagrams: RdmaDatagrams,
    privateData: ByteArray = ByteArray(0),
) {
    beginAnswer(PortSpace.UDP)
    steps.id.use { id ->
        require(
            host.node(id) === datagrams.node,
        ) { "${remoteAddress.shown()} asks at ${id.deviceName()}, and $datagrams are on ${datagrams.node}" }
        id.accept(datagrams.queuePair.queuePair, ConnectionParameters.DEFAULTS.withPrivateData(privateData))
    }
}
