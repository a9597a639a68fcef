package org.kverbs.ibtool.check

import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonObjectBuilder
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonObject
import org.kverbs.ibtool.fabric.SubnetJson
import org.kverbs.ibtool.health.PortText
import org.kverbs.ibtool.session.NodeNames
import org.kverbs.ibtool.session.unsigned
import org.kverbs.management.check.NameDiff
import org.kverbs.management.check.RouteReport
import org.kverbs.management.subnet.SubnetLink
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.management.subnet.SubnetPort

/** A report as JSON. */
internal class CheckJson(
    names: NodeNames,
) {
    private val subnets = SubnetJson(names)

    fun of(report: CheckReport): JsonObject =
        buildJsonObject {
            put(
                "problems",
                list(report.problems + report.partitions?.problems.orEmpty()) { JsonPrimitive(PortText.safe("$it")) },
            )
            report.routes?.let { putJsonObject("routes") { routes(it) } }
            report.multicast?.let { groups -> put("multicast", list(groups, ::group)) }
            report.partitions?.let { partitions ->
                put(
                    "partitions",
                    list(partitions.all) { partition ->
                        buildJsonObject {
                            put("key", partition.key)
                            put("full", list(partition.fullMembers, ::port))
                            put("limited", list(partition.limitedMembers, ::port))
                        }
                    },
                )
            }
            report.difference?.let { putJsonObject("expected") { difference(it) } }
            report.way?.let { putJsonObject("path") { way(it) } }
        }

    private fun JsonObjectBuilder.routes(routes: RouteReport) {
        put("pairs", routes.pairs)
        put("unreachableCount", routes.unreachableCount)
        put("portsWithoutLid", routes.portsWithoutLid)
        put("circles", routes.circleCount)
        put("detours", routes.detours)
        putJsonObject("switches") { routes.hopCounts.forEach { (switches, pairs) -> put("$switches", pairs) } }
        put(
            "unreachable",
            list(routes.unreachable) {
                buildJsonObject {
                    put("from", port(it.from))
                    put("to", port(it.to))
                    put("lid", it.lid.value)
                    put("isCircle", it.isCircle)
                    put("text", PortText.safe(it.text))
                }
            },
        )
        put("creditLoops", list(routes.creditLoops) { loop -> list(loop.hops) { port(it.out) } })
        put(
            "unbalanced",
            list(routes.unbalanced) {
                buildJsonObject {
                    put("busy", port(it.busy))
                    put("busyLids", it.busyLids)
                    put("idle", port(it.idle))
                    put("idleLids", it.idleLids)
                    put("movable", it.movable)
                }
            },
        )
    }

    private fun group(group: CheckReport.Group): JsonElement =
        buildJsonObject {
            put("lid", group.tree.lid.value)
            put("switches", list(group.tree.switches, ::node))
            put("ports", list(group.tree.ends, ::port))
            put("parts", group.tree.parts)
            put("loopLinks", group.tree.loopLinks)
            put("oneSided", list(group.tree.oneSided, ::port))
            put("missing", list(group.missing, ::port))
        }

    private fun JsonObjectBuilder.difference(diff: NameDiff) {
        put("missingNodes", list(diff.missingNodes, ::node))
        put("unexpectedNodes", list(diff.unexpectedNodes, ::node))
        put("missingLinks", list(diff.missingLinks, ::link))
        put("unexpectedLinks", list(diff.unexpectedLinks, ::link))
        put("changedLinks", list(diff.changedLinks) { link(it.after) })
        put("ambiguousNames", list(diff.ambiguousNames.toList()) { JsonPrimitive(PortText.safe(it)) })
    }

    private fun JsonObjectBuilder.way(way: CheckReport.Way) {
        put("from", node(way.route.from))
        put("isComplete", way.route.isComplete)
        put("text", way.route.text?.let(PortText::safe))
        put(
            "hops",
            list(way.route.hops) { hop ->
                buildJsonObject {
                    put("rate", hop.link.rate?.toString())
                    put("out", counted(way, hop.out))
                    put("into", counted(way, hop.into))
                }
            },
        )
        put(
            "failures",
            list(way.readings.failures.toList()) { (node, text) ->
                buildJsonObject {
                    put("node", node(node))
                    put("text", PortText.safe(text))
                }
            },
        )
    }

    private fun counted(
        way: CheckReport.Way,
        port: SubnetPort,
    ): JsonElement =
        buildJsonObject {
            with(subnets) { end(port) }
            val reading = way.readings.of(port) ?: return@buildJsonObject
            put("sentBytes", unsigned(reading.sentBytes))
            put("receivedBytes", unsigned(reading.receivedBytes))
            putJsonObject("errors") { reading.errors.forEach { (name, value) -> put(name, unsigned(value)) } }
        }

    private fun node(node: SubnetNode): JsonElement = buildJsonObject { with(subnets) { head(node) } }

    private fun port(port: SubnetPort): JsonElement = buildJsonObject { with(subnets) { end(port) } }

    private fun link(link: SubnetLink): JsonElement =
        buildJsonObject {
            put("a", port(link.a))
            put("b", port(link.b))
            put("rate", link.rate?.toString())
        }

    private fun <T> list(
        of: Collection<T>,
        element: (T) -> JsonElement,
    ): JsonElement = JsonArray(of.map(element))
}
