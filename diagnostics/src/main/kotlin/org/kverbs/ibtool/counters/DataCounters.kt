package org.kverbs.ibtool.counters

import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import org.kverbs.ibtool.session.with
import org.kverbs.management.structures.PortCounters

/** The traffic of a port, in the lines of `ibdatacounts`. */
internal class DataCounters(
    private val query: PortCountersQuery,
    private val port: Int,
    private val counters: PortCounters,
) {
    private val rows =
        mapOf(
            "PortXmitData" to counters.portXmitData,
            "PortRcvData" to counters.portRcvData,
            "PortXmitPkts" to counters.portXmitPkts,
            "PortRcvPkts" to counters.portRcvPkts,
        )

    override fun toString(): String =
        "# Port counters: ${query.target} port $port (CapMask: 0x%02X)\n".with(query.mask) +
            rows.entries.joinToString("") { (name, value) -> "$name:.........................$value\n" }

    fun json(): JsonObject =
        buildJsonObject {
            put("lid", query.target.lid)
            put("port", port)
            rows.forEach { (name, value) -> put(name.replaceFirstChar { it.lowercase() }, value) }
        }

    companion object {
        /** Asks for the traffic of a port; 255 is the sum of all. */
        suspend fun of(
            query: PortCountersQuery,
            port: Int,
        ): DataCounters {
            query.begin()
            return DataCounters(query, port, query.plain(port))
        }
    }
}
