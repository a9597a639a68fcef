package org.kverbs.ibtool.congestion

import org.kverbs.management.agent.ReceivedRequest
import org.kverbs.management.structures.CACongestionSetting
import org.kverbs.management.structures.CCFormat
import org.kverbs.management.structures.ClassPortInfo
import org.kverbs.management.structures.CongestionControlTable
import org.kverbs.management.structures.CongestionInfo
import org.kverbs.management.structures.CongestionKeyInfo
import org.kverbs.management.structures.CongestionLogCA
import org.kverbs.management.structures.CongestionLogSwitch
import org.kverbs.management.structures.CongestionLogType
import org.kverbs.management.structures.MADStatusInvalidField
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.SwitchCongestionSetting
import org.kverbs.management.structures.SwitchPortCongestionSetting
import org.kverbs.management.structures.TimeStamp
import org.kverbs.structures.Lid
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureType
import java.util.concurrent.ConcurrentHashMap

/** Congestion control at a node: it keeps what is set. Requests need the key that was set last. */
internal class CongestionAgent(
    isSwitch: Boolean,
) {
    private val values = ConcurrentHashMap<Pair<Int, Long>, Structure>()

    private val log: Structure =
        if (isSwitch) {
            CongestionLogSwitch {
                logType = CongestionLogType.of(1)
                congestionFlags = 3
                logEventsCounter = 2
                currentTimeStamp = 77
                portMap = ByteArray(32) { it.toByte() }
                congestionEntry[2].slid = Lid(4)
                congestionEntry[2].dlid = Lid(5)
                congestionEntry[2].sl = 1
                congestionEntry[2].timestamp = 9
            }
        } else {
            CongestionLogCA {
                logType = CongestionLogType.of(2)
                thresholdEventCounter = 5
                thresholdCongestionEventMap = 0x11
                currentTimeStamp = 78
                congestionLogEvent[0].localQPCNEntry = 0x1234
                congestionLogEvent[0].slCNEntry = 2
                congestionLogEvent[0].remoteQPNumberCNEntry = 0x4321
                congestionLogEvent[0].localLIDCN = Lid(6)
                congestionLogEvent[0].remoteLIDCNEntry = Lid(7)
                congestionLogEvent[0].timestampCNEntry = 10
            }
        }

    private val types: Map<Int, StructureType<*>> =
        mapOf(
            1 to ClassPortInfo,
            0x11 to CongestionInfo,
            0x12 to CongestionKeyInfo,
            0x14 to SwitchCongestionSetting,
            0x15 to SwitchPortCongestionSetting,
            0x16 to CACongestionSetting,
            0x17 to CongestionControlTable,
            0x18 to TimeStamp,
        )

    fun answer(request: ReceivedRequest) {
        val id = request.attributeId
        val type = types[id]
        val key = (values[0x12 to 0L] as CongestionKeyInfo?)?.ccKey ?: 0
        when {
            CCFormat.at(request.mad).ccKey != key -> {
                request.refuse(MADStatusInvalidField.INVALID_ATTRIBUTE_OR_MODIFIER)
            }

            id == 0x13 -> {
                request.answer(log)
            }

            type == null -> {
                request.refuse(MADStatusInvalidField.INVALID_ATTRIBUTE_OR_MODIFIER)
            }

            else -> {
                request.answer(value(request, type))
            }
        }
    }

    private fun value(
        request: ReceivedRequest,
        type: StructureType<*>,
    ): Structure {
        val place = request.attributeId to request.modifier
        if (request.method == Method.SET) values[place] = request.value(type)
        return values[place] ?: initial(type)
    }

    private fun initial(type: StructureType<*>): Structure =
        when (type) {
            CongestionInfo -> {
                CongestionInfo {
                    congestionInfo = 1
                    controlTableCap = 2
                }
            }

            ClassPortInfo -> {
                ClassPortInfo { baseVersion = 1 }
            }

            TimeStamp -> {
                TimeStamp { timestamp = 123 }
            }

            else -> {
                type.of(ByteArray(type.byteSize))
            }
        }
}
