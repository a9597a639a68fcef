package org.kverbs.management.simulation

import org.kverbs.management.structures.MlxGeneralInfoExtended

private const val AT = 24
private const val GENERAL_INFO = 0x17

/**
 * The management class of Mellanox: what a device says of itself. Its firmware has the version 1.0.0 and the PSID
 * KVERBS_SIM. The uptime is zero: nodes have no clock.
 */
internal class MellanoxAgent(
    private val network: Network,
) : NodeAgent {
    override val classVersion get() = 1

    override fun serve(
        port: Int,
        mad: ByteArray,
        isSet: Boolean,
    ): Int {
        NodeAgents.classPortInfo(mad, AT, isSet)?.let { return it }
        if (isSet || Mads.attribute(mad) != GENERAL_INFO) return Mads.ATTRIBUTE_UNSUPPORTED
        mad.fill(0, AT, mad.size)
        MlxGeneralInfoExtended.at(mad, AT).apply {
            hwRevision = Identity.REVISION.toInt()
            deviceID = network.topology.specOf(port).device
            fwMajor = 1
            fwMonth = 0x01
            fwDay = 0x01
            fwYear = 0x2026
            fwPSID = "KVERBS_SIM"
            fwINIFileVersion = 1
            // Older devices have the version of their software here: it is 0.0.1 then.
            fwExtMajor = 1
            swSubMinor = 1
        }
        return 0
    }
}
