package org.kverbs.management.sa

import org.kverbs.Context
import org.kverbs.QueuePair
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.ConnectOptionsBuilder
import org.kverbs.attributes.Gid
import org.kverbs.attributes.LinkLayer
import org.kverbs.attributes.Mtu
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.dsl.ConnectedVerbs
import org.kverbs.dsl.TypedQueuePair

private const val LONGEST_TIMEOUT = 31

/**
 * Connects an RC or UC queue pair to a peer's over a path that the subnet administrator has found: moves it to INIT if
 * it is still in RESET, then to RTR and RTS. The peer connects by [SaPath.reverse] of the path, or by one of its own.
 *
 * The path gives LID, GIDs, partition, service level, MTU, flow label, traffic class and hop limit. The acknowledgement
 * timeout is the longer one of [options] and of twice the path's life time. Packets have a global route if the path
 * leaves the subnet, and on Ethernet.
 *
 * ```
 * val path = fabric.sa.path(peerGid)
 * qp.connect(peerEndpoint, path) { retryCount(3) }
 * ```
 *
 * @param peer the number of the peer's queue pair, and its first packet's; its addresses are not used
 * @param path the path to the peer's port, from the port of [options]
 * @param options sets what the path says nothing of, the port among it
 * @throws IllegalArgumentException if the path does not begin at the port: the port has no GID of the path's source
 * @throws org.kverbs.RdmaSystemException if the device refuses a step, or the port is not in the path's partition
 * @throws IllegalStateException for a UD queue pair
 */
public fun QueuePair.connect(
    peer: QueuePairEndpoint,
    path: SaPath,
    options: ConnectOptionsBuilder.() -> Unit = {},
) {
    val builder = ConnectOptions.builder().apply(options)
    val given = builder.build()
    val context = protectionDomain().context()
    val port = given.port()
    val record = path.record
    val hasRoute = path.isGlobal || context.queryPort(port).linkLayer() == LinkLayer.ETHERNET
    builder
        .pathMtu(Mtu.ofBytes(path.mtuBytes))
        .serviceLevel(record.sl)
        .pkeyIndex(context.pkeyIndex(port, record.pKey))
    if (given.timeout() != 0) {
        builder.timeout(maxOf(given.timeout(), minOf(record.packetLifeTime + 1, LONGEST_TIMEOUT)))
    }
    if (hasRoute) {
        builder
            .gidIndex(if (given.gidIndex() >= 0) given.gidIndex() else context.indexOf(path.source, port))
            .flowLabel(record.flowLabel)
            .trafficClass(record.tClass)
        if (path.isGlobal) builder.hopLimit(record.hopLimit)
    }
    val gid = if (hasRoute) path.destination else Gid(0, 0)
    connect(
        QueuePairEndpoint(record.dlid.value, gid, peer.queuePairNumber(), peer.psn(), path.mtuBytes, 0),
        builder.build(),
    )
}

/** Connects a queue pair of the DSL by a path, as [QueuePair.connect] with a path does. */
public fun TypedQueuePair<ConnectedVerbs>.connect(
    peer: QueuePairEndpoint,
    path: SaPath,
    options: ConnectOptionsBuilder.() -> Unit = {},
): Unit = queuePair.connect(peer, path, options)

private fun Context.indexOf(
    gid: Gid,
    port: Int,
): Int {
    val entry = queryGidTable().firstOrNull { it.port() == port && it.gid() == gid }
    return requireNotNull(entry) {
        "the path begins at ${gid.toCompactString()}, which is no GID of ${device().name()}/$port; ask for a path " +
            "from this port"
    }.index()
}
