package org.kverbs.cli.devices

import kotlinx.serialization.Serializable
import org.kverbs.Device
import org.kverbs.cli.guidText
import org.kverbs.cli.text

/** The line of a device in `kverbs devices`; the properties are the keys of its JSON. */
@Serializable
internal class DeviceRow(
    val name: String,
    val nodeGuid: String,
    val nodeType: String,
    val transport: String,
    val provider: String,
    val port1: PortRow?,
) {
    /** The words of a line. */
    fun cells(): List<String> =
        listOf(name, nodeGuid, nodeType, transport.replace(' ', '_'), provider) +
            listOf(port1?.state, port1?.linkLayer, port1?.gidIndex, port1?.gid).map { it?.toString() ?: "-" }

    companion object {
        val columns =
            listOf("NAME", "NODE_GUID", "NODE_TYPE", "TRANSPORT", "PROVIDER") +
                listOf("PORT_1", "LINK_LAYER", "GID_INDEX", "GID")

        fun of(
            device: Device,
            port1: PortRow?,
        ) = DeviceRow(
            name = device.name(),
            nodeGuid = guidText(device.guid()),
            nodeType = device.nodeType().toString(),
            transport = device.transportType().text(),
            provider = device.provider(),
            port1 = port1,
        )
    }
}
