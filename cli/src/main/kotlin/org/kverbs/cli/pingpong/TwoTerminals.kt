package org.kverbs.cli.pingpong

import org.kverbs.Device
import java.net.InetAddress
import java.net.UnknownHostException

/** The TCP address of a server without RDMA hardware: no other machine can reach its embedded device. */
internal const val LOOPBACK = "127.0.0.1"

/**
 * Returns options with which this end can reach an end in another process. The default embedded devices reach only
 * their own process. Instead both ends take an embedded device that sends UDP packets, at a free loopback address.
 *
 * @throws UnfitOptionException if they ask for such a device, or for a host that a loopback address does not lead to
 */
internal fun PingPongOptions.forTwoTerminals(): PingPongOptions {
    if (transport != null || peer is Peer.Own || !Venue.isUsual()) return this
    val devices = Device.list()
    val wanted = (if (device == null) devices.firstOrNull() else devices.find { it.name() == device }) ?: return this
    if (!Venue.isEmbedded(wanted)) return this
    if (device != null) {
        throw UnfitOptionException(
            "--device",
            "$device reaches devices of its own process only: leave this out, or give each end its address by " +
                "--transport udp:ADDRESS",
        )
    }
    return when (peer) {
        is Peer.Client -> {
            copy(transport = Transport.Udp(), peer = peer.copy(address = LOOPBACK))
        }

        is Peer.Server -> {
            if (!isHere(peer.host)) {
                throw UnfitOptionException(
                    "HOST[:PORT]",
                    "this machine has no RDMA hardware to reach ${peer.host} by: give each end its address by " +
                        "--transport udp:ADDRESS",
                )
            }
            copy(transport = Transport.Udp())
        }
    }
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
