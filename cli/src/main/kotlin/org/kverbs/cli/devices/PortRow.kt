package org.kverbs.cli.devices

import kotlinx.serialization.Serializable
import org.kverbs.Device
import org.kverbs.cli.text

/** What `kverbs devices` shows of a device's first port; the GID is the one that is used by default. */
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
