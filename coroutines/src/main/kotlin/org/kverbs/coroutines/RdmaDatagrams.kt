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
 * Exchanges datagrams with a service at an address and port. The connection manager tells the client the number and
 * qkey of the service's queue pair (SIDR, IBA volume 1, section 12.11). There is no connection: datagrams can be lost,
 * any queue pair that knows number and qkey can send, and no side learns of the other side's end. Any thread can call.
 *
 * **Ownership.** [close] closes the queue pair and [service]. The caller closes the destinations that [sender] returns.
 */
public class RdmaDatagrams internal constructor(
    private val id: ConnectionId,
    /** The device of the queue pair. */
    public val node: RdmaNode,
    /**
     * The queue pair, to send and receive. A received datagram begins with the 40 bytes of the global routing header.
     */
    public val queuePair: AsyncQueuePair<DatagramVerbs>,
    private val peerData: ByteArray,
    /**
     * The service, to send to. Null on the side of the service: a request does not name the client's queue pair, see
     * [sender].
     */
    public val service: Destination?,
) : AutoCloseable {
    private val port = id.port()
    private val qkey = queuePair.queuePair.query().qkey()

    /** The protection domain in which to register memory for the datagrams. */
    public val pd: ProtectionDomain get() = node.pd

    /** The private data of the other side, followed by zeros. */
    public val privateData: ByteArray get() = peerData.clone()

    /**
     * Returns the sender of a datagram, to answer it. Assumes this side's qkey for the sender, because the connection
     * manager gives all queue pairs the same qkey.
     *
     * @param buffer the receive's buffer, from its first byte on
     * @throws IllegalArgumentException if the completion has no global routing header
     */
    public fun sender(
        received: Received,
        buffer: MemorySegment,
    ): Destination {
        val completion =
            requireNotNull(received.completion) {
                "$received has no global routing header, which names the sender: give a received datagram"
            }
        return Destination(pd.addressHandle(port, completion, buffer), received.sourceQueuePair, qkey)
    }

    /** Closes the queue pair and [service]; waiting calls fail. */
    override fun close(): Unit = closeAll(service, queuePair, id)

    /** Names the queue pair. */
    override fun toString(): String = "datagrams of ${queuePair.queuePair.describe()}"
}

/**
 * Asks for the datagram service at an address, and suspends until it has answered.
 *
 * @throws org.kverbs.cm.ConnectionRejectedException if the other side rejects the request, with its reason, or if no
 *   program listens at the port
 * @throws org.kverbs.cm.ConnectionTimeoutException if a step takes longer than [ConnectionBuilder.timeout]
 * @throws org.kverbs.cm.ConnectionException if a step fails in the network; the message names the step and the address
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
    } catch (e: Throwable) {
        closeAll(made.steps.id, made, cause = e)
        throw e
    }
}

/**
 * Accepts a request of a [PortSpace.UDP] listener with a new queue pair. The client can send at once: a datagram that
 * comes before [ConnectionBuilder.prepared] has posted receives is lost.
 *
 * @throws IllegalStateException if the request is for a connection, or was answered before
 * @throws org.kverbs.RdmaSystemException if the device refuses the queue pair, or the host was closed
 */
public suspend fun ConnectionRequest.acceptDatagrams(settings: ConnectionBuilder.() -> Unit = {}): RdmaDatagrams {
    val made = establish(ConnectionBuilder().apply(settings).setUp(UD, PortSpace.UDP))
    return RdmaDatagrams(made.steps.id, made.node, made.value, privateData, null)
}

/**
 * Accepts a request with the queue pair of an earlier one, so that one queue pair serves all clients. Closes the
 * request.
 *
 * @param datagrams the datagrams of the earlier request
 * @param privateData bytes for the client, at most 136
 * @throws IllegalStateException if the request is for a connection, or was answered before
 * @throws IllegalArgumentException if the request came to another device than that of [datagrams]; the request is
 *   closed then
 * @throws org.kverbs.RdmaSystemException if the device refuses the answer, or the host was closed
 */
public fun ConnectionRequest.acceptDatagrams(
    datagrams: RdmaDatagrams,
    privateData: ByteArray = ByteArray(0),
) {
    beginAnswer(PortSpace.UDP)
    steps.id.use { id ->
        require(
            host.node(id) === datagrams.node,
        ) {
            "${remoteAddress.shown()} asks at ${id.deviceName()}, and $datagrams are on ${datagrams.node}; " +
                "answer with datagrams on the same device"
        }
        id.accept(datagrams.queuePair.queuePair, ConnectionParameters.DEFAULTS.withPrivateData(privateData))
    }
}
