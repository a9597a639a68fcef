package org.kverbs.cli.devinfo

import org.kverbs.attributes.GidEntry
import org.kverbs.attributes.GidType
import org.kverbs.attributes.LinkLayer
import org.kverbs.attributes.Mtu
import org.kverbs.attributes.PortAttributes
import org.kverbs.attributes.PortState
import org.kverbs.attributes.TransportType
import org.kverbs.cli.text

private const val INDENT = 3
private const val COLUMN = 48

/** Adds what ibv_devinfo(1) shows of a port without -v. */
internal fun InfoText.port(
    number: Int,
    port: PortAttributes,
) {
    field("port", number, indent = 2, column = 0)
    portField("state", "${port.state().text()} (${port.rawState()})")
    portField("max_mtu", "${port.maxMtu().text()} (${port.rawMaxMtu()})")
    portField("active_mtu", "${port.activeMtu().text()} (${port.rawActiveMtu()})")
    portField("sm_lid", port.smLid())
    portField("port_lid", port.lid())
    portField("port_lmc", hex(port.lmc(), digits = 2))
    portField("link_layer", port.linkLayer().text())
}

/** Adds what -v shows besides, but for the GIDs. */
internal fun InfoText.portDetails(
    port: PortAttributes,
    transport: TransportType,
) {
    portField("max_msg_sz", hex(port.maxMessageSize()))
    portField("port_cap_flags", hex(port.portCapFlags(), digits = 8))
    portField("port_cap_flags2", hex(port.portCapFlags2(), digits = 4))
    portField("max_vl_num", "${virtualLanes(port.maxVlNum())} (${port.maxVlNum()})")
    portField("bad_pkey_cntr", hex(port.badPkeyCounter()))
    portField("qkey_viol_cntr", hex(port.qkeyViolationCounter()))
    portField("sm_sl", port.smSl())
    portField("pkey_tbl_len", port.pkeyTableLength())
    portField("gid_tbl_len", port.gidTableLength())
    portField("subnet_timeout", port.subnetTimeout())
    portField("init_type_reply", port.initTypeReply())
    portField("active_width", "${port.widthText()} (${port.activeWidth()})")
    portField("active_speed", "${port.speedText()} (${port.activeSpeed()})")
    if (transport == TransportType.IB) portField("phys_state", "${port.physStateText()} (${port.physState()})")
}

/** Adds the GIDs of a port. Like the C tool it leaves out those whose last 64 bits are 0, as all of siw's are. */
internal fun InfoText.gids(
    port: PortAttributes,
    entries: List<GidEntry>,
) {
    val ethernet = port.linkLayer() == LinkLayer.ETHERNET
    for (entry in entries.filter { it.gid().interfaceId() != 0L }) {
        val routable = entry.type() == GidType.ROCE_V2
        val address = if (routable) entry.gid().toCompactString() else entry.gid().toString()
        val type = if (routable) "RoCE v2" else "RoCE v1"
        portField("GID[${entry.index().toString().padStart(3)}]", if (ethernet) "$address, $type" else address)
    }
}

private fun InfoText.portField(
    key: String,
    value: Any,
) = field(key, value, INDENT, COLUMN)

private fun PortState.text(): String =
    when (this) {
        PortState.DOWN, PortState.INIT, PortState.ARMED, PortState.ACTIVE -> "PORT_$name"
        PortState.NOP, PortState.ACTIVE_DEFER, PortState.UNKNOWN -> "invalid state"
    }

private fun Mtu.text(): String = if (this == Mtu.UNKNOWN) "invalid MTU" else bytes().toString()

/** Returns the number of data lanes for a code of VLCap (IBA volume 1, PortInfo). */
private fun virtualLanes(code: Int): String =
    when (code) {
        1 -> "1"
        2 -> "2"
        3 -> "4"
        4 -> "8"
        5 -> "15"
        else -> "invalid value"
    }
