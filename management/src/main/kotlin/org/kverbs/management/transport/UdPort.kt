package org.kverbs.management.transport

import org.kverbs.Context
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PortCapabilityMask
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortPhysicalState
import org.kverbs.management.structures.PortState
import org.kverbs.structures.Guid
import org.kverbs.structures.Lid

/** What verbs tell of a port, as the structures of subnet management. */
internal object UdPort {
    fun of(
        context: Context,
        number: Int,
    ): MadPort {
        val device = context.queryDevice()
        val port = context.queryPort(number)
        val gid = context.queryGid(number, 0)
        val node =
            NodeInfo {
                baseVersion = 1
                classVersion = 1
                nodeType = NodeType.CA
                numPorts = device.physPortCnt()
                systemImageGUID = Guid(device.systemImageGuid())
                nodeGUID = Guid(device.nodeGuid())
                portGUID = Guid(gid.interfaceId())
                localPortNum = number
            }
        val info =
            PortInfo {
                gidPrefix = gid.subnetPrefix()
                lid = Lid(port.lid())
                masterSMLID = Lid(port.smLid())
                capabilityMask = PortCapabilityMask.of(port.portCapFlags())
                localPortNum = number
                portState = PortState.of(port.rawState())
                portPhysicalState = PortPhysicalState.of(port.physState())
                lmc = port.lmc()
                masterSMSL = port.smSl()
            }
        return MadPort(context.device().name(), node, info)
    }
}
