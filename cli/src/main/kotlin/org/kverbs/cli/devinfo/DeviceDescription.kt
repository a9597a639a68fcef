package org.kverbs.cli.devinfo

import kotlinx.serialization.Serializable
import org.kverbs.Context
import org.kverbs.attributes.DeviceCapability
import org.kverbs.cli.guidText
import org.kverbs.cli.text

/** A device in the JSON of `kverbs devinfo`; the properties are the keys. Sizes are bytes. */
@Serializable
internal class DeviceDescription(
    val name: String,
    val provider: String,
    val transport: String,
    val firmwareVersion: String,
    val nodeGuid: String,
    val systemImageGuid: String,
    val vendorId: Int,
    val vendorPartId: Long,
    val hardwareVersion: Long,
    val boardId: String?,
    val completionVectors: Int,
    val capabilities: List<String>,
    val limits: DeviceLimits,
    val ports: List<PortDescription>,
) {
    companion object {
        /** Asks an opened device about itself and the [ports] of these numbers. */
        fun of(
            context: Context,
            ports: List<Int>,
        ): DeviceDescription {
            val device = context.device()
            val extended = context.queryDeviceEx()
            val attributes = extended.original()
            val flags = extended.deviceCapFlagsEx()
            return DeviceDescription(
                name = device.name(),
                provider = device.provider(),
                transport = device.transportType().text(),
                firmwareVersion = attributes.firmwareVersion(),
                nodeGuid = guidText(device.guid()),
                systemImageGuid = attributes.systemImageGuidText(),
                vendorId = attributes.vendorId(),
                vendorPartId = attributes.vendorPartId().toUInt().toLong(),
                hardwareVersion = attributes.hwVersion().toUInt().toLong(),
                boardId = boardId(device),
                completionVectors = context.completionVectors(),
                capabilities = DeviceCapability.entries.filter { flags and it.bit() != 0L }.map { it.name },
                limits = DeviceLimits.of(attributes),
                ports = ports.map { PortDescription.of(context, it) },
            )
        }
    }
}
