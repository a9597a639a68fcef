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
 * A datagram queue pair in a multicast group: what is sent to [group] comes to every member that has a receive posted,
 * but never to the queue pair that sent it (IBA volume 1, section 10.5.2.1). Made by [joinMulticast]. Any thread.
 *
 * **Ownership.** [close] leaves the group, and closes the queue pair and [group].
 */
public class RdmaMulticast internal constructor(
    private val id: ConnectionId,
    /** The device it is on. */
    public val node: RdmaNode,
    /** Sends and receives. What is received has the 40 bytes of the global routing header before it. */
    public val queuePair: AsyncQueuePair<DatagramVerbs>,
    /** The group, to send to. */
    public val group: Destination,
    /** The group's IP address. */
    public val address: InetAddress,
) : AutoCloseable {
    /** Where to register memory for it. */
    public val pd: ProtectionDomain get() = node.pd

    /** Leaves the group and closes the queue pair. */
    override fun close(): Unit = closeAll(group, queuePair, id)

    /** Names the queue pair and the group's address. */
    override fun toString(): String = "${queuePair.queuePair.describe()} in the multicast group ${address.hostAddress}"
}

/**
 * Joins a multicast group on the device of one of this machine's addresses, and suspends until that is done.
 *
 * ```
 * host.joinMulticast(InetAddress.ofLiteral("239.1.2.3"), at = InetAddress.ofLiteral("10.0.0.2")).use { member ->
 *     member.queuePair.send(region[0, 64], member.group)
 * }
 * ```
 *
 * @param at an address of the device that joins
 * @param sendOnly to send to the group without being sent to
 * @param settings the queue pair's sizes; [ConnectionBuilder.prepared], for receives that are there when the first
 *     message comes; the timeout. Nobody is asked, so that private data and parameters go nowhere
 * @throws IllegalArgumentException if [group] is no multicast address
 * @throws org.kverbs.RdmaSystemException if no RDMA device has the address [at], or its device has no datagrams or no
 *     multicast
 * @throws org.kverbs.cm.ConnectionTimeoutException if it takes longer than [ConnectionBuilder.timeout]
 * @throws org.kverbs.cm.ConnectionException if the network can't
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
