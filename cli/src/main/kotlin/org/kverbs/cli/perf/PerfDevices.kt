package org.kverbs.cli.perf

import org.kverbs.Device
import org.kverbs.DeviceNotFoundException
import org.kverbs.cli.pingpong.LOOPBACK
import org.kverbs.cli.pingpong.Peer
import org.kverbs.cli.pingpong.Transport
import org.kverbs.cli.pingpong.UnfitOptionException
import org.kverbs.cli.pingpong.Venue
import org.kverbs.cli.pingpong.devices
import org.kverbs.cli.pingpong.isHere

/**
 * The devices of a measurement.
 *
 * @property near the device of the client's end, or of the only one
 * @property far the device of the server's end, if that is in this process
 */
internal class PerfDevices private constructor(
    val near: Device,
    val far: Device?,
) {
    companion object {
        /**
         * The device with the name, or else the first one. Without hardware both ends in one process take two embedded
         * devices, and an end alone takes one that sends UDP packets.
         */
        fun of(options: PerfOptions): PerfDevices {
            val devices = options.transport?.devices() ?: Device.list()
            val near = devices.find { options.device == null || it.name() == options.device }
            if (near == null) throw DeviceNotFoundException(asked(options), devices.map { it.name() })
            val isAlone = options.peer !is Peer.Own
            if (isAlone) return PerfDevices(near, null)
            val isChosen = options.device != null || (options.transport == null && !Venue.isEmbedded(near))
            return PerfDevices(near, if (isChosen) near else devices.filter(Venue::isEmbedded).last())
        }

        private fun asked(options: PerfOptions) = options.device?.let { "device '$it'" } ?: "any device"
    }
}

/**
 * Returns options with which this end reaches an end in another process: the usual embedded devices reach their own
 * process only, and both ends take one that sends UDP packets at a free loopback address.
 *
 * @throws UnfitOptionException if they ask for such a device, or for a host that a loopback address does not lead to
 */
internal fun PerfOptions.forTwoProcesses(): PerfOptions {
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
