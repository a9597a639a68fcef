package org.kverbs.ibtool.routes

import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.addJsonObject
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonArray
import org.kverbs.ibtool.fabric.SubnetJson
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.hex
import org.kverbs.ibtool.session.hex16
import org.kverbs.ibtool.session.with
import org.kverbs.management.path.lid
import org.kverbs.management.structures.LinearForwardingTable
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.SubnetPort
import org.kverbs.management.transaction.MadException
import org.kverbs.structures.Lid

/**
 * The linear forwarding table of a switch, as `ibroute` and `dump_fts` print it.
 *
 * @param scanned where the names of destinations come from; without it the destinations are asked
 */
internal class UnicastTable(
    private val session: Session,
    private val switch: SwitchOf,
    private val isAll: Boolean,
    private val isBrief: Boolean,
    private val scanned: Subnet? = null,
) {
    /** A LID, its port and where it leads; the texts are null where nothing is known or asked. */
    class Row(
        val lid: Int,
        val port: Int,
        val isValid: Boolean,
        val destination: Destination?,
    )

    /** What has a LID. */
    class Destination(
        val type: String,
        val guid: Long,
        val name: String,
        val firstLid: Int,
        val lmc: Int,
    )

    private var range = 0..0

    suspend fun rows(
        first: Int,
        last: Int,
    ): List<Row> {
        val top = minOf(switch.info.linearFDBTop, LAST_LID)
        range = first..(if (last == 0 || last > top) top else last)
        val ports = IntArray(range.last + 1)
        for (block in range.first / BLOCK..range.last / BLOCK) {
            val table = session.get<LinearForwardingTable>(switch.path, block)
            for (index in 0 until BLOCK) {
                if (block * BLOCK + index <
                    ports.size
                ) {
                    ports[block * BLOCK + index] = table.portBlock[index]
                }
            }
        }
        val shown = range.filter { isAll || ports[it] <= switch.node.numPorts }
        return coroutineScope {
            shown
                .map { lid ->
                    async {
                        val isValid = ports[lid] <= switch.node.numPorts
                        Row(lid, ports[lid], isValid, if (isValid && !isBrief) destination(lid) else null)
                    }
                }.awaitAll()
        }
    }

    private suspend fun destination(number: Int): Destination? {
        if (number == 0) return null
        if (scanned != null) return scanned.port(Lid(number))?.let(::destination)
        return try {
            val path = lid(number)
            val description = session.get<NodeDescription>(path)
            val info = session.get<PortInfo>(path)
            val node = session.get<NodeInfo>(path)
            val name = session.names.of(node.nodeGUID, description)
            Destination(type(node), node.portGUID.value, name, info.lid.value, info.lmc)
        } catch (_: MadException) {
            null
        }
    }

    private fun destination(port: SubnetPort): Destination {
        val node = port.node
        return Destination(type(node.info), port.guid.value, session.names.of(node), port.lid.value, port.lmc)
    }

    fun text(rows: List<Row>): String =
        buildString {
            append("Unicast lids [0x${hex(range.first)}-0x${hex(range.last)}] of switch $switch ")
            append("guid 0x${hex16(switch.node.nodeGUID.value)} (${switch.name}):\n")
            append("  Lid  Out   Destination\n       Port     Info \n")
            var group: Destination? = null
            for (row in rows) {
                val last = group?.let { it.firstLid + (1 shl it.lmc) - 1 } ?: 0
                append("0x%04x %03d ".with(row.lid, row.port))
                if (row.lid == 0 && !isBrief) {
                    append(if (row.isValid) ": (path #1 out of 1)" else ": (path #0 - illegal port)")
                } else if (group != null && row.lid <= last && !isBrief) {
                    append(ofGroup(row, group, last))
                } else if (!isBrief) {
                    append(alone(row))
                    group = row.destination?.takeIf { it.lmc > 0 }
                }
                append('\n')
            }
            append("${rows.size} ${if (isAll) "" else "valid "}lids dumped \n")
        }

    private fun alone(row: Row): String {
        val there = row.destination
        return when {
            !row.isValid -> ": (illegal port)"
            there == null && scanned != null -> ": (node info not available fabric scan)"
            there == null -> ": (unknown node and type)"
            else -> ": (${there.type} portguid 0x${hex16(there.guid)}: '${there.name}')"
        }
    }

    private fun ofGroup(
        row: Row,
        group: Destination,
        last: Int,
    ): String {
        val number = row.lid - group.firstLid
        if (!row.isValid) return ": (path #$number - illegal port)"
        return ": (path #${number + 1} out of ${last - group.firstLid + 1}: portguid 0x${hex16(group.guid)})"
    }

    fun json(rows: List<Row>): JsonElement =
        buildJsonObject {
            put("guid", SubnetJson.guid(switch.node.nodeGUID.value))
            put("name", switch.name)
            putJsonArray("lids") {
                for (row in rows) {
                    addJsonObject {
                        put("lid", row.lid)
                        put("port", row.port)
                        row.destination?.let {
                            put("type", it.type)
                            put("portGuid", SubnetJson.guid(it.guid))
                            put("name", it.name)
                        }
                    }
                }
            }
        }

    private fun type(node: NodeInfo) =
        when (node.nodeType) {
            NodeType.CA -> "Channel Adapter"
            NodeType.SWITCH -> "Switch"
            NodeType.ROUTER -> "Router"
            else -> "?(${node.nodeType.value})?"
        }

    private companion object {
        private const val BLOCK = 64
        private const val LAST_LID = 0xbfff
    }
}
