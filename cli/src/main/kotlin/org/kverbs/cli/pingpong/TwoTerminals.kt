package org.kverbs.cli.pingpong

import org.kverbs.Device
import java.net.InetAddress
import java.net.UnknownHostException

/** The TCP address of a server without RDMA hardware: no other machine can reach its embedded device. */
internal const val LOOPBACK = "127.0.0.1"

/**
 * Returns options with which this end can reach an end in another process.
 *
 * @throws UnfitOptionException as [peerByUdp]
 */
internal fun PingPongOptions.forTwoTerminals(): PingPongOptions {
    val other = peerByUdp(transport, device, peer) ?: return this
    return copy(transport = Transport.Udp(), peer = other)
}

/**
 * Returns the peer of an end whose device reaches only its own process. Both ends then take an embedded device that
 * sends UDP packets, at a free loopback address. Returns null if the device of these options reaches other processes.
 *
 * @throws UnfitOptionException if they ask for such a device, or for a host that a loopback address does not lead to
 */
internal fun peerByUdp(
    transport: Transport?,
    device: String?,
    peer: Peer,
): Peer? {
    if (transport != null || peer is Peer.Own || !Venue.isUsual()) return null
    val devices = Device.list()
    val wanted = (if (device == null) devices.firstOrNull() else devices.find { it.name() == device }) ?: return null
    if (!Venue.isEmbedded(wanted)) return null
    if (device != null) {
        throw UnfitOptionException(
            "--device",
            "$device reaches devices of its own process only: leave this out, or give each end its address by " +
                "--transport udp:ADDRESS",
        )
    }
    if (peer is Peer.Client) return peer.copy(address = LOOPBACK)
    if (peer is Peer.Server && !isHere(peer.host)) {
        throw UnfitOptionException(
            "HOST[:PORT]",
            "this machine has no RDMA hardware to reach ${peer.host} by: give each end its address by " +
                "--transport udp:ADDRESS",
        )
    }
    return peer
}

/** True if the host is this machine, by a loopback address. */
internal fun isHere(host: String): Boolean =
    try {
        InetAddress.getAllByName(host).any { it.isLoopbackAddress }
    } catch (_: UnknownHostException) {
        true // the connecting step reports that there is no such host
    }

/** The command for the other terminal. */
internal fun PingPongOptions.clientCommand(server: Peer.Client): String {
    val usual = PingPongOptions(type)
    val words =
        listOfNotNull(
            "./kverbs pingpong ${server.address}",
            ":${server.port}".takeIf { server.port != Peer.DEFAULT_PORT },
            " --type ${type.name.lowercase()}".takeIf { type != PingPongOptions().type },
            " --size $size".takeIf { size != usual.size },
            " --mtu ${mtu.bytes()}".takeIf { mtu != usual.mtu },
            " --iters $iterations".takeIf { iterations != usual.iterations },
            " --warm-up $warmUp".takeIf { warmUp != null },
            " --chk".takeIf { check },
        )
    return words.joinToString("")
}
