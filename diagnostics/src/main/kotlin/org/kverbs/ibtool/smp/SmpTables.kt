package org.kverbs.ibtool.smp

import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonArray
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonArray
import org.kverbs.ibtool.fabric.SubnetJson
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.hex16
import org.kverbs.ibtool.session.with
import org.kverbs.management.structures.GUIDInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PKeyTable
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.SLtoVLMappingTable
import org.kverbs.management.structures.SwitchInfo
import org.kverbs.management.structures.VLArbitrationElement
import org.kverbs.management.structures.VLArbitrationTable
import org.kverbs.structures.toJson

/** The tables of a port, as `smpquery` prints them. */
internal class SmpTables(
    private val query: SmpQuery,
) {
    private val session = query.session
    private val target = query.target
    private val port = query.port

    suspend fun partitionKeys(): SmpAnswer {
        val node = query.node()
        requirePort(node.numPorts)
        val isOfSwitch = node.nodeType == NodeType.SWITCH && port != 0
        val capacity =
            if (isOfSwitch) session.get<SwitchInfo>(target.path).partitionEnforcementCap else node.partitionCap
        val blocks = (capacity + KEYS - 1) / KEYS
        val keys = ArrayList<Int>()
        val text = StringBuilder()
        for (block in 0 until blocks) {
            val table = session.get<PKeyTable>(target.path, block or (port shl 16))
            val count = if (block + 1 == blocks) (capacity + 7 - block * KEYS) / 8 * 8 else KEYS
            for (at in 0 until count step 8) {
                val row = (at until at + 8).map { table.pKeyBlock[it] }
                text.append("%4d: ".with(block * KEYS + at)).append(row.joinToString(" ") { "0x%04x".with(it) })
                text.append('\n')
                keys += row
            }
        }
        text.append("$capacity pkeys capacity for this port\n")
        return SmpAnswer(
            "$text",
            buildJsonArray { keys.take(capacity).forEach { add(JsonPrimitive("0x%04x".with(it))) } },
        )
    }

    suspend fun virtualLanes(): SmpAnswer {
        val node = query.node()
        requirePort(node.numPorts)
        val isSwitch = node.nodeType == NodeType.SWITCH
        val tables =
            (0..if (isSwitch) node.numPorts else 0).map { input ->
                val output = if (isSwitch) port else 0
                Triple(input, output, session.get<SLtoVLMappingTable>(target.path, input shl 8 or output))
            }
        val text =
            "# SL2VL table: $target\n#                 SL: |" + (0 until LEVELS).joinToString("") { "%2d|".with(it) } +
                "\n" +
                tables.joinToString("") { (input, output, table) ->
                    "ports: in %2d, out %2d: |".with(input, output) +
                        (0 until LEVELS).joinToString("") { "%2d|".with(table.slToVL[it]) } + "\n"
                }
        val json =
            buildJsonArray {
                for ((input, output, table) in tables) {
                    add(
                        buildJsonObject {
                            put("in", input)
                            put("out", output)
                            putJsonArray("slToVl") { repeat(LEVELS) { add(JsonPrimitive(table.slToVL[it])) } }
                        },
                    )
                }
            }
        return SmpAnswer(text, json)
    }

    suspend fun arbitration(): SmpAnswer {
        val isBasePort =
            port == 0 && query.node().nodeType == NodeType.SWITCH && !session.get<SwitchInfo>(target.path).enhancedPort0
        if (isBasePort) return SmpAnswer("# No VLArbitration tables (BSP0): $target port 0\n", buildJsonObject { })
        val info = session.get<PortInfo>(target.path, port)
        val low = table(LOW, info.vlArbitrationLowCap)
        val high = table(HIGH, info.vlArbitrationHighCap)
        val text =
            "# VLArbitration tables: $target port $port LowCap ${info.vlArbitrationLowCap} HighCap " +
                "${info.vlArbitrationHighCap}\n" + text("Low", low) + text("High", high)
        val json =
            buildJsonObject {
                putJsonArray("low") { low.flatten().forEach { add(it.toJson()) } }
                putJsonArray("high") { high.flatten().forEach { add(it.toJson()) } }
            }
        return SmpAnswer(text, json)
    }

    private suspend fun table(
        part: Int,
        capacity: Int,
    ) = listOf(minOf(capacity, WEIGHTS), capacity - WEIGHTS).withIndex().filter { it.value > 0 }.map { (half, count) ->
        val table = session.get<VLArbitrationTable>(target.path, part + half shl 16 or port)
        (0 until count).map { table.vlWeightBlock[it] }
    }

    private fun text(
        name: String,
        halves: List<List<VLArbitrationElement>>,
    ): String {
        if (halves.isEmpty()) return ""
        return "# $name priority VL Arbitration Table:" +
            halves.joinToString("") { half ->
                "\nVL    : |" + half.joinToString("") { "0x%-2X|".with(it.vl) } +
                    "\nWEIGHT: |" + half.joinToString("") { "0x%-2X|".with(it.weight) } + "\n"
            }
    }

    suspend fun guids(): SmpAnswer {
        val capacity = session.get<PortInfo>(target.path).guidCap
        val blocks = (capacity + GUIDS - 1) / GUIDS
        val guids = ArrayList<Long>()
        val text = StringBuilder()
        for (block in 0 until blocks) {
            val table = session.get<GUIDInfo>(target.path, block)
            val count = if (block + 1 == blocks) (capacity + 1 - block * GUIDS) / 2 * 2 else GUIDS
            for (at in 0 until count step 2) {
                val row = listOf(table.guidBlock[at].value, table.guidBlock[at + 1].value)
                text.append("%4d: 0x%s 0x%s\n".with(block * GUIDS + at, hex16(row[0]), hex16(row[1])))
                guids += row
            }
        }
        text.append("$capacity guids capacity for this port\n")
        val json = buildJsonArray { guids.take(capacity).forEach { add(JsonPrimitive(SubnetJson.guid(it))) } }
        return SmpAnswer("$text", json)
    }

    private fun requirePort(ports: Int) {
        if (port > ports) throw DiagnosticException("invalid port number")
    }

    private companion object {
        private const val KEYS = 32
        private const val GUIDS = 8
        private const val LEVELS = 16
        private const val WEIGHTS = 32
        private const val LOW = 1
        private const val HIGH = 3
    }
}
