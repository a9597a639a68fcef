package org.kverbs.cli.pingpong

import org.kverbs.Device
import java.net.InetAddress
import java.net.UnknownHostException

/** Where the server of a machine without hardware waits: nobody else could reach its RDMA device. */
private const val LOOPBACK = "127.0.0.1"

/**
 * The options by which this end can meet one in another process. The embedded devices that each process has by itself
 * can't: both ends then take one that speaks UDP at a free loopback address.
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

private fun isHere(host: String): Boolean =
    try {
        InetAddress.getAllByName(host).any { it.isLoopbackAddress }
    } catch (_: UnknownHostException) {
        true // who connects says so
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
