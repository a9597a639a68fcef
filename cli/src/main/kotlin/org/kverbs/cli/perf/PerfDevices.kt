package org.kverbs.cli.perf

import org.kverbs.Device
import org.kverbs.DeviceNotFoundException
import org.kverbs.cli.pingpong.Peer
import org.kverbs.cli.pingpong.Transport
import org.kverbs.cli.pingpong.UnfitOptionException
import org.kverbs.cli.pingpong.Venue
import org.kverbs.cli.pingpong.devices
import org.kverbs.cli.pingpong.peerByUdp

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
 * Returns options with which this end reaches an end in another process.
 *
 * @throws UnfitOptionException as [peerByUdp]
 */
internal fun PerfOptions.forTwoProcesses(): PerfOptions {
    val other = peerByUdp(transport, device, peer) ?: return this
    return copy(transport = Transport.Udp(), peer = other)
}
