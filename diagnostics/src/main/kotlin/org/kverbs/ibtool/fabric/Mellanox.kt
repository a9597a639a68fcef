package org.kverbs.ibtool.fabric

import org.kverbs.management.structures.NodeInfo

/** Devices that infiniband-diags asks for Mellanox's own port attribute, which tells FDR10 from QDR. */
internal object Mellanox {
    private const val BULL = 0x119f
    private val devices = listOf(0xc738..0xc73b, 0x1003..0x101b)
    private val singles = setOf(0xc839, 0xcb20, 0xcf08, 0xcf09, 0xd2f0, 0xa2d2)
    private val ofBull =
        setOf(0x1b02, 0x1b50, 0x1ba0, 0x1bf0, 0x1b33, 0x1b73, 0x1b40, 0x1b41, 0x1b60, 0x1b61, 0x1b83, 0x1b93, 0x1b94) +
            setOf(0x1bb4, 0x1bb5) + (0x1bd0..0x1bd5) + (0x1bc4..0x1bc6)

    fun hasExtendedPortInfo(node: NodeInfo): Boolean {
        val device = node.deviceID
        return device in singles || devices.any { device in it } || (node.vendorID == BULL && device in ofBull)
    }
}
