package org.kverbs.ibtool.services

import org.kverbs.management.agent.ReceivedRequest
import org.kverbs.management.structures.ClassPortInfo
import org.kverbs.management.structures.MADStatusInvalidField
import org.kverbs.management.structures.MlxConfigCounterGroup
import org.kverbs.management.structures.MlxConfigSpace
import org.kverbs.management.structures.MlxCounterGroupInfo
import org.kverbs.management.structures.MlxGeneralInfoExtended

/** Answers as a device of Mellanox does, of which [deviceId] says what it can. */
internal class MellanoxDevice(
    private val deviceId: Int,
) {
    private val info =
        MlxGeneralInfoExtended {
            hwRevision = 0xa1
            deviceID = deviceId
            uptime = 0x12345
            fwMajor = 2
            fwMinor = 11
            fwSubMinor = 50
            fwBuildID = 7
            fwMonth = 0x11
            fwDay = 0x25
            fwYear = 0x2026
            fwPSID = "MT_1090110019"
            fwINIFileVersion = 3
            fwExtMajor = 16
            fwExtMinor = 35
            fwExtSubMinor = 3006
            swMajor = 1
        }

    fun answer(request: ReceivedRequest) {
        when (request.attributeId) {
            1 -> request.answer(ClassPortInfo { baseVersion = 1 })
            0x17 -> request.answer(info)
            0x50 -> request.answer(space(request.value(MlxConfigSpace)))
            0x90 -> request.answer(groups)
            0x91 -> request.answer(request.value(MlxConfigCounterGroup))
            else -> request.refuse(MADStatusInvalidField.INVALID_ATTRIBUTE_OR_MODIFIER)
        }
    }

    /** The data of a record that is read is made from its address. */
    private fun space(wanted: MlxConfigSpace): MlxConfigSpace =
        wanted.apply {
            repeat(18) {
                val asked = record[it]
                if (asked.data == 0L) asked.data = asked.address shr 12 and 0xfff
            }
        }

    private val groups =
        MlxCounterGroupInfo {
            numCounterGroups = 2
            groupMask[0] = 0x7
            groupMask[1] = 0x106
        }
}
