package org.kverbs.management.subnet

import org.kverbs.management.structures.LinkSpeed
import org.kverbs.management.structures.LinkSpeedExt
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortInfo

private const val MELLANOX = 0x2c9

/** Mellanox's speed of its own looks like QDR in [PortInfo]. Only an attribute of these devices tells it. */
internal object Fdr10 {
    private val switches = listOf(0xc738..0xc73b, 0xc838..0xc839, 0xcb20..0xcb20, 0xcf08..0xcf09, 0xd2f0..0xd2f0)
    private val adapters = 0x1003..0x101b

    fun isPossible(
        node: NodeInfo,
        port: PortInfo,
    ): Boolean =
        node.vendorID == MELLANOX && port.linkSpeedActive == LinkSpeed.QDR &&
            port.linkSpeedExtActive == LinkSpeedExt.NONE &&
            (node.deviceID in adapters || switches.any { node.deviceID in it })
}
