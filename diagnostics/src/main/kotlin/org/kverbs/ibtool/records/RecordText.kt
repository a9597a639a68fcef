package org.kverbs.ibtool.records

import org.kverbs.ibtool.session.NodeNames
import org.kverbs.ibtool.session.with
import org.kverbs.ibtool.smp.PortInfoText
import org.kverbs.management.structures.ClassPortInfo
import org.kverbs.management.structures.LinkRecord
import org.kverbs.management.structures.MCMemberRecord
import org.kverbs.management.structures.NodeRecord
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PathRecord
import org.kverbs.management.structures.PortInfoRecord
import org.kverbs.management.structures.SMInfoRecord
import org.kverbs.management.structures.SwitchInfoRecord
import org.kverbs.structures.Structure

private const val LONG_NAMES = 40
private const val NAMES = 24
private const val PLACES = 27
private const val MANAGERS = 22
private const val CLASS = 25

/** Records in the form of `saquery`. */
internal class RecordText(
    private val showsKeys: Boolean,
) {
    /** The lines of a record. */
    fun of(record: Structure): String =
        when (record) {
            is NodeRecord -> node(record)
            is PortInfoRecord -> port(record)
            is LinkRecord -> link(record)
            is PathRecord -> path(record)
            is MCMemberRecord -> member(record)
            is SwitchInfoRecord -> switch(record)
            is SMInfoRecord -> manager(record)
            else -> TableText.of(record) ?: ServiceText(showsKeys).of(record)
        }

    private fun node(record: NodeRecord): String {
        val info = record.nodeInfo
        val type =
            when (info.nodeType) {
                NodeType.CA -> "Channel Adapter"
                NodeType.SWITCH -> "Switch"
                NodeType.ROUTER -> "Router"
                else -> "Unknown"
            }
        return Rows("NodeRecord dump:", NAMES)
            .row("lid", record.lid.value)
            .row("reserved", upper(record.raw("reserved0", 2)))
            .row("base_version", upper(info.baseVersion))
            .row("class_version", upper(info.classVersion))
            .row("node_type", type)
            .row("num_ports", info.numPorts)
            .row("sys_guid", long(info.systemImageGUID.value))
            .row("node_guid", long(info.nodeGUID.value))
            .row("port_guid", long(info.portGUID.value))
            .row("partition_cap", upper(info.partitionCap))
            .row("device_id", upper(info.deviceID))
            .row("revision", upper(info.revision))
            .row("port_num", info.localPortNum)
            .row("vendor_id", upper(info.vendorID))
            .row("NodeDescription", NodeNames.clean(record.nodeDescription))
            .toString()
    }

    private fun port(record: PortInfoRecord): String {
        val head =
            Rows("PortInfoRecord dump:", NAMES)
                .line("RID", "\t")
                .row("EndPortLid", record.endportLID.value)
                .row("PortNum", record.portNum)
                .row("Options", "0x%x".with(record.options))
                .line("PortInfo dump:", "\t")
        val info = PortInfoText.of(record.portInfo, showsKeys)
        return "$head" + info.lines().joinToString("\n") { if (it.isEmpty() || it.startsWith("\t")) it else "\t\t$it" }
    }

    private fun link(record: LinkRecord) =
        Rows("LinkRecord dump:", PLACES)
            .row("FromLID", record.fromLID.value)
            .row("FromPort", record.fromPort)
            .row("ToPort", record.toPort)
            .row("ToLID", record.toLID.value)
            .toString()

    private fun path(record: PathRecord) =
        Rows("PathRecord dump:", NAMES)
            .row("service_id", long(record.serviceID))
            .row("dgid", record.dgid.toCompactString())
            .row("sgid", record.sgid.toCompactString())
            .row("dlid", record.dlid.value)
            .row("slid", record.slid.value)
            .row("hop_flow_raw", upper(record.raw("rawTraffic", 4)))
            .row("tclass", upper(record.raw("tClass", 1)))
            .row("num_path_revers", upper(record.raw("reversible", 1)))
            .row("pkey", upper(record.raw("pKey", 2)))
            .row("qos_class", upper(record.qosClass))
            .row("sl", upper(record.sl))
            .row("mtu", upper(record.raw("mtuSelector", 1)))
            .row("rate", upper(record.raw("rateSelector", 1)))
            .row("pkt_life", upper(record.raw("packetLifeTimeSelector", 1)))
            .row("preference", upper(record.raw("preference", 1)))
            .row("resv2", "0x%012X".with(record.raw("reversePathPKeyMemberBit", 6)))
            .toString()

    private fun member(record: MCMemberRecord): String =
        Rows("MCMember Record dump:", NAMES)
            .row("MGID", record.mgid.toCompactString())
            .row("PortGid", record.portGID.toCompactString())
            .row("qkey", "0x%x".with(record.raw("qKey", 4)))
            .row("mlid", "0x%x".with(record.mlid.value))
            .row("mtu", "0x%x".with(record.raw("mtuSelector", 1)))
            .row("TClass", "0x%x".with(record.tClass))
            .row("pkey", "0x%x".with(record.pKey))
            .row("rate", "0x%x".with(record.raw("rateSelector", 1)))
            .row("pkt_life", "0x%x".with(record.raw("packetLifeTimeSelector", 1)))
            .row("SL", "0x%x".with(record.sl))
            .row("FlowLabel", "0x%x".with(record.flowLabel))
            .row("HopLimit", "0x%x".with(record.hopLimit))
            .row("Scope", "0x%x".with(record.raw("scope", 1) shr 4))
            .row("JoinState", "0x%x".with(record.raw("scope", 1) and 0xf))
            .row("ProxyJoin", "0x%x".with(record.raw("proxyJoin", 1) shr 7))
            .toString()

    private fun switch(record: SwitchInfoRecord): String {
        val info = record.switchInfo
        return Rows("SwitchInfoRecord dump:", LONG_NAMES)
            .line("RID")
            .row("LID", record.lid.value)
            .line("SwitchInfo dump:")
            .row("LinearFDBCap", upper(info.linearFDBCap))
            .row("RandomFDBCap", upper(info.randomFDBCap))
            .row("MulticastFDBCap", upper(info.multicastFDBCap))
            .row("LinearFDBTop", upper(info.linearFDBTop))
            .row("DefaultPort", info.defaultPort)
            .row("DefaultMulticastPrimaryPort", info.defaultMulticastPrimaryPort)
            .row("DefaultMulticastNotPrimaryPort", info.defaultMulticastNotPrimaryPort)
            .row("LifeTimeValue/PortStateChange/OpSL2VL", upper(info.raw("lifeTimeValue", 1)))
            .row("LIDsPerPort", upper(info.lidsPerPort))
            .row("PartitionEnforcementCap", upper(info.partitionEnforcementCap))
            .row("flags", upper(info.raw("inboundEnforcementCap", 1)))
            .row("MulticastFDBTop", upper(info.raw("multicastFDBTop", 2)))
            .toString()
    }

    private fun manager(record: SMInfoRecord): String {
        val info = record.smInfo
        return Rows("SMInfoRecord dump:", MANAGERS)
            .line("RID")
            .row("LID", record.lid.value)
            .line("SMInfo dump:")
            .row("GUID", long(info.guid.value))
            .row("SM_Key", long(info.smKey))
            .row("ActCount", info.actCount)
            .row("Priority", info.priority)
            .row("SMState", info.smState.value)
            .toString()
    }

    /** What the subnet administrator says of itself. */
    fun of(info: ClassPortInfo): String =
        Rows("SA ClassPortInfo:", CLASS)
            .row("Base version", info.baseVersion)
            .row("Class version", info.classVersion)
            .row("Capability mask", "0x%04X".with(info.raw("capabilityMask", 2)))
            .row("Capability mask 2", "0x%08X".with(info.raw("capabilityMask2", 4) shr 5))
            .row("Response time value", "0x%02X".with(info.respTimeValue))
            .row("Redirect GID", info.redirectGID.toCompactString())
            .row("Redirect TC/SL/FL", "0x%08X".with(info.raw("redirectTC", 4)))
            .row("Redirect LID", info.redirectLID.value)
            .row("Redirect PKey", "0x%04X".with(info.raw("redirectPKey", 2)))
            .row("Redirect QP", "0x%08X".with(info.raw("reserved0", 4)))
            .row("Redirect QKey", "0x%08X".with(info.raw("redirectQKey", 4)))
            .row("Trap GID", info.trapGID.toCompactString())
            .row("Trap TC/SL/FL", "0x%08X".with(info.raw("trapTC", 4)))
            .row("Trap LID", info.trapLID.value)
            .row("Trap PKey", "0x%04X".with(info.raw("trapPKey", 2)))
            .row("Trap HL/QP", "0x%08X".with(info.raw("trapHL", 4)))
            .row("Trap QKey", "0x%08X".with(info.raw("trapQKey", 4)))
            .toString()
}
