package org.kverbs.ibtool.routes

import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.addJsonObject
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonArray
import org.kverbs.ibtool.fabric.SubnetJson
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.hex
import org.kverbs.ibtool.session.hex16
import org.kverbs.ibtool.session.with
import org.kverbs.management.structures.MulticastForwardingTable

/** The multicast forwarding table of a switch, as `ibroute` and `dump_fts` print it. */
internal class MulticastTable(
    private val session: Session,
    private val switch: SwitchOf,
    private val isAll: Boolean,
) {
    /** A multicast LID and the masks of its ports, 16 ports each. */
    class Row(
        val lid: Int,
        val masks: List<Int>,
    )

    private var range = FIRST..FIRST
    private val ports = switch.node.numPorts
    private val positions = ports / PORTS + 1

    suspend fun rows(
        first: Int,
        last: Int,
    ): List<Row> {
        val capacity = switch.info.multicastFDBCap
        val top = switch.info.multicastFDBTop
        val most = minOf(FIRST + capacity - 1, LAST)
        var end = if (last == 0 || last > most) most else last
        if (!isAll && top in FIRST - 1 until end) end = top
        range = (if (first == 0) FIRST else maxOf(first, FIRST))..end
        val rows = ArrayList<Row>()
        for (block in range.first / BLOCK..range.last / BLOCK) {
            val tables =
                (0 until positions).map { position ->
                    val modifier = block - FIRST / BLOCK or (position shl POSITION)
                    session.get<MulticastForwardingTable>(switch.path, modifier)
                }
            for (lid in maxOf(range.first, block * BLOCK)..minOf(range.last, block * BLOCK + BLOCK - 1)) {
                rows += Row(lid, tables.map { it.portMaskBlock[lid % BLOCK] })
            }
        }
        return rows.filter { row -> isAll || row.masks.any { it != 0 } }
    }

    fun text(
        rows: List<Row>,
        isBrief: Boolean,
    ): String =
        buildString {
            append("Multicast mlids [0x${hex(range.first)}-0x${hex(range.last)}] of switch $switch ")
            append("guid 0x${hex16(switch.node.nodeGUID.value)} (${switch.name}):\n")
            if (isBrief) {
                append(" MLid       Port Mask\n")
            } else {
                if (ports >= TENS) {
                    append("            ")
                    for (port in 0..ports) append(if (port % TENS == 0) "${'0' + port / TENS} " else "  ")
                    append('\n')
                }
                append("     Ports: ")
                for (port in 0..ports) append("${port % TENS} ")
                append("\n MLid\n")
            }
            if (session.options.verbose > 0) {
                append("Switch multicast mlid capability is ${switch.info.multicastFDBCap} ")
                append("top is 0x${hex(switch.info.multicastFDBTop)}\n")
            }
            for (row in rows) append("0x%04x      ".with(row.lid)).append(masks(row, isBrief)).append('\n')
            append("${rows.size} ${if (isAll) "" else "valid "}mlids dumped \n")
        }

    private fun masks(
        row: Row,
        isBrief: Boolean,
    ): String =
        if (isBrief) {
            row.masks.joinToString("") { "%04x".with(it) }
        } else {
            (0..ports).joinToString("") { if (row.has(it)) "x " else "  " }
        }

    private fun Row.has(port: Int) = masks[port / PORTS] shr port % PORTS and 1 != 0

    fun json(rows: List<Row>): JsonElement =
        buildJsonObject {
            put("guid", SubnetJson.guid(switch.node.nodeGUID.value))
            put("name", switch.name)
            putJsonArray("lids") {
                for (row in rows) {
                    addJsonObject {
                        put("lid", row.lid)
                        putJsonArray("ports") { for (port in 0..ports) if (row.has(port)) add(JsonPrimitive(port)) }
                    }
                }
            }
        }

    private companion object {
        private const val FIRST = 0xc000
        private const val LAST = 0xfffe
        private const val BLOCK = 32
        private const val PORTS = 16
        private const val POSITION = 28
        private const val TENS = 10
    }
}
