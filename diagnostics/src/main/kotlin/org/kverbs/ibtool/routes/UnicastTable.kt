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
import org.kverbs.management.path.lid
import org.kverbs.management.structures.LinearForwardingTable
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.transaction.MadException

/**
 * The linear forwarding table of a switch, as `ibroute` and `dump_fts` print it.
 *
 * @param scanned the destinations that are known; without it the destinations are asked
 */
internal class UnicastTable(
    private val session: Session,
    private val switch: SwitchOf,
    private val isAll: Boolean,
    private val isBrief: Boolean,
    private val scanned: Destinations? = null,
) {
    /** A LID, its port and where it leads; the texts are null where nothing is known or asked. */
    class Row(
        val lid: Int,
        val port: Int,
        val isValid: Boolean,
        val destination: Destination?,
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

        fun row(
            lid: Int,
            destination: Destination?,
        ) = Row(lid, ports[lid], ports[lid] <= switch.node.numPorts, destination)

        fun isWanted(lid: Int) = !isBrief && lid != 0 && ports[lid] <= switch.node.numPorts
        if (isBrief || scanned != null) return shown.map { row(it, if (isWanted(it)) scanned?.of(it) else null) }
        return coroutineScope {
            shown.map { async { row(it, if (isWanted(it)) asked(it) else null) } }.awaitAll()
        }
    }

    private suspend fun asked(number: Int): Destination? =
        try {
            val path = lid(number)
            val description = session.get<NodeDescription>(path)
            val info = session.get<PortInfo>(path)
            val node = session.get<NodeInfo>(path)
            val name = session.names.of(node.nodeGUID, description)
            Destination(Destination.type(node), node.portGUID.value, name, info.lid.value, info.lmc)
        } catch (_: MadException) {
            null
        }

    fun text(rows: List<Row>): String =
        buildString {
            append("Unicast lids [0x${hex(range.first)}-0x${hex(range.last)}] of switch $switch ")
            append("guid 0x${hex16(switch.node.nodeGUID.value)} (${switch.name}):\n")
            append("  Lid  Out   Destination\n       Port     Info \n")
            var group: Destination? = null
            for (row in rows) {
                val last = group?.let { it.firstLid + (1 shl it.lmc) - 1 } ?: 0
                append("0x").append(hex(row.lid).padStart(LID_DIGITS, '0')).append(' ')
                append("${row.port}".padStart(PORT_DIGITS, '0')).append(' ')
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

    private companion object {
        private const val BLOCK = 64
        private const val LAST_LID = 0xbfff
        private const val LID_DIGITS = 4
        private const val PORT_DIGITS = 3
    }
}
