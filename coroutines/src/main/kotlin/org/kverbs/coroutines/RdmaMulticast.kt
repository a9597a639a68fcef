package org.kverbs.coroutines

import org.kverbs.ProtectionDomain
import org.kverbs.attributes.QueuePairState
import org.kverbs.cm.ConnectionEventType.MULTICAST_JOIN
import org.kverbs.cm.ConnectionId
import org.kverbs.cm.ConnectionStep
import org.kverbs.cm.PortSpace
import org.kverbs.dsl.DatagramVerbs
import org.kverbs.dsl.Destination
import org.kverbs.dsl.UD
import java.net.InetAddress
import java.net.InetSocketAddress

/**
 * Sends and receives datagrams in a multicast group; [joinMulticast] creates it. A datagram to [group] reaches every
 * member with a posted receive, except the queue pair that sent it (IBA volume 1, section 10.5.2.1). Any thread can
 * call.
 *
 * **Ownership.** [close] leaves the group, and closes the queue pair and [group].
 */
public class RdmaMulticast internal constructor(
    private val id: ConnectionId,
    /** The device of the queue pair. */
    public val node: RdmaNode,
    /**
     * The queue pair, to send and receive. A received datagram begins with the 40 bytes of the global routing header.
     */
    public val queuePair: AsyncQueuePair<DatagramVerbs>,
    /** The group, to send to. */
    public val group: Destination,
    /** The group's IP address. */
    public val address: InetAddress,
) : AutoCloseable {
    /** The protection domain in which to register memory for the datagrams. */
    public val pd: ProtectionDomain get() = node.pd

    /** Leaves the group and closes the queue pair. */
    override fun close(): Unit = closeAll(group, queuePair, id)

    /** Names the queue pair and the group's address. */
    override fun toString(): String = "${queuePair.queuePair.describe()} in the multicast group ${address.hostAddress}"
}

/**
 * Joins a multicast group on the device with one of this machine's addresses, and suspends until the join is done.
 *
 * ```
 * host.joinMulticast(InetAddress.ofLiteral("239.1.2.3"), at = InetAddress.ofLiteral("10.0.0.2")).use { member ->
 *     member.queuePair.send(region[0, 64], member.group)
 * }
 * ```
 *
 * @param at an IP address of the device that joins
 * @param sendOnly true to send to the group without receiving from it
 * @param settings the sizes of the queue pair, the timeout, and [ConnectionBuilder.prepared] to post the first
 *   receives. Private data and parameters have no effect: there is no peer to get them
 * @throws IllegalArgumentException if [group] is not a multicast address
 * @throws org.kverbs.RdmaSystemException if no RDMA device has the address [at], or the device supports no datagrams or
 *   no multicast
 * @throws org.kverbs.cm.ConnectionTimeoutException if the join takes longer than [ConnectionBuilder.timeout]
 * @throws org.kverbs.cm.ConnectionException if the join fails in the network
 */
public suspend fun RdmaHost.joinMulticast(
    group: InetAddress,
    at: InetAddress,
    sendOnly: Boolean = false,
    settings: ConnectionBuilder.() -> Unit = {},
): RdmaMulticast {
    val chosen = ConnectionBuilder().apply(settings)
    val steps = newId(PortSpace.UDP)
    val id = steps.id
    var qp: AsyncQueuePair<DatagramVerbs>? = null
    try {
        id.bind(InetSocketAddress(at, 0))
        val node = node(id)
        qp = node.dispatcher.qp(node.pd, UD, block = chosen.queuePair)
        id.prepare(qp.queuePair, QueuePairState.INIT)
        chosen.prepared(qp)
        id.prepareAll(qp.queuePair)
        val address = InetSocketAddress(group, 0)
        id.joinMulticast(address, sendOnly)
        val joined = steps.await(ConnectionStep.JOIN_MULTICAST, address, chosen.timeout, MULTICAST_JOIN)
        val route = checkNotNull(joined.address()) { "$joined has no address" }
        if (!sendOnly) {
            val gid = checkNotNull(route.globalRoute()) { "$joined has no GID" }.dgid()
            qp.queuePair.attachMulticast(gid, route.destinationLid())
        }
        val destination = Destination(node.pd.addressHandle(route), joined.queuePairNumber(), joined.qkey())
        return RdmaMulticast(id, node, qp, destination, group)
    } catch (e: Throwable) {
        closeAll(id, qp, cause = e)
        throw e
    }
}
