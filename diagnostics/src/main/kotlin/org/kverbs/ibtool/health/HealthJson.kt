package org.kverbs.ibtool.health

import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.addJsonObject
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonArray
import kotlinx.serialization.json.putJsonObject
import org.kverbs.ibtool.fabric.SubnetJson
import org.kverbs.ibtool.session.NodeNames

/** A report as JSON. */
internal class HealthJson(
    private val names: NodeNames,
) {
    fun of(report: HealthReport): JsonObject =
        buildJsonObject {
            put("status", "${report.severity}")
            put("nodes", report.subnet.nodes.size)
            put("links", report.subnet.links.size)
            put("slowLinks", report.slowLinks)
            put("narrowLinks", report.narrowLinks)
            put("masters", report.managers)
            report.routes?.let { routes ->
                putJsonObject("routes") {
                    put("pairs", routes.pairs)
                    put("unreachable", routes.unreachableCount)
                    put("portsWithoutLid", routes.portsWithoutLid)
                    put("circles", routes.circleCount)
                    put("creditLoops", routes.creditLoops.size)
                    put("unbalanced", routes.unbalanced.size)
                }
            }
            putJsonArray("skipped") { report.skipped.forEach { add(JsonPrimitive(it.key)) } }
            putJsonArray("findings") {
                for (finding in report.findings) {
                    addJsonObject {
                        put("check", finding.check.key)
                        put("severity", "${finding.severity}")
                        put("text", finding.text)
                        finding.port?.let { port -> putJsonObject("port") { with(SubnetJson(names)) { end(port) } } }
                    }
                }
            }
        }

    companion object {
        /** The report of a fabric that could not be asked. */
        fun unknown(why: String): JsonObject =
            buildJsonObject {
                put("status", "UNKNOWN")
                put("error", why)
            }
    }
}
