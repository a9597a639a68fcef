package org.kverbs.cli.pingpong

import org.kverbs.Device
import org.kverbs.DeviceNotFoundException
import org.kverbs.embedded.EmbeddedProvider

/**
 * The devices of a ping-pong.
 *
 * @property near the device of the client's end, or of the only one
 * @property far the device of the server's end, if that is in this process
 * @property transport the transport between them, if the options choose one
 */
internal class Venue private constructor(
    val near: Device,
    val far: Device?,
    val transport: Transport?,
) {
    companion object {
        /** Hardware if there is any, and else embedded devices: a pair of them for two ends. */
        fun of(options: PingPongOptions): Venue {
            val listed = if (options.transport == null) Device.list() else emptyList()
            val usual =
                Transport.Memory.takeIf {
                    options.suitsPair() && listed.isNotEmpty() &&
                        isEmbedded(listed.first())
                }
            val transport = options.transport ?: usual
            val devices = transport?.devices() ?: listed
            val near =
                devices.find { options.device == null || it.name() == options.device }
                    ?: throw options.unknownDevice(devices)
            val far =
                when {
                    options.peer !is Peer.Own -> null
                    transport == null || options.device != null -> near
                    else -> devices.last()
                }
            return Venue(near, far, transport)
        }

        fun isEmbedded(device: Device) = device.provider() == EmbeddedProvider().name()

        /** True if neither the options nor the environment choose the devices. */
        private fun PingPongOptions.suitsPair() = peer is Peer.Own && device == null && isUsual()

        /** True if the embedded devices are those that every process has by itself. */
        fun isUsual() = System.getProperty("kverbs.embedded", System.getenv("KVERBS_EMBEDDED")).isNullOrBlank()

        private fun PingPongOptions.unknownDevice(devices: List<Device>): Exception {
            val names = devices.map { it.name() }
            if (device == null) return DeviceNotFoundException("any device", names)
            if (transport != null && Device.list().any { it.name() == device && !isEmbedded(it) }) {
                return UnfitOptionException(
                    "--transport",
                    "$device is hardware with a wire of its own; leave out this option, or take ${names.joinToString(
                        " or ",
                    )}",
                )
            }
            return DeviceNotFoundException("device '$device'", names)
        }
    }
}

/**
 * Makes the embedded devices of a transport.
 *
 * @throws UnfitOptionException if this machine has no such address
 */
internal fun Transport.devices(): List<Device> {
    val provider =
        try {
            EmbeddedProvider(words)
        } catch (e: IllegalArgumentException) {
            throw UnfitOptionException("--transport", e.message.orEmpty(), e)
        }
    return provider.devices().map { Device.of(provider, it) }
}
