package org.kverbs.cli.devices

import kotlinx.serialization.Serializable
import org.kverbs.Device
import org.kverbs.cli.text

/** A device's first port in `kverbs devices`; the GID is the default one. */
@Serializable
internal class PortRow(
    val state: String,
    val linkLayer: String,
    val gidIndex: Int?,
    val gid: String?,
) {
    companion object {
        /** Asks the device; throws [org.kverbs.RdmaException] if it can't be opened. */
        fun of(device: Device): PortRow =
            device.open().use { context ->
                val port = context.queryPort(1)
                val index = context.defaultGidIndex(1)
                val gid = context.queryGid(1, index).takeUnless { it.isZero }
                PortRow(
                    state = port.state().toString(),
                    linkLayer = port.linkLayer().text(),
                    gidIndex = index.takeIf { gid != null },
                    gid = gid?.toCompactString(),
                )
            }
    }
}
