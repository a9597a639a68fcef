package org.kverbs.ibtool.map

import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.addJsonObject
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonArray
import kotlinx.serialization.json.putJsonObject
import org.kverbs.ibtool.fabric.SubnetJson
import org.kverbs.ibtool.session.NodeNames

/** A map as JSON: nodes with their places, and links with their states. */
internal class MapJson(
    names: NodeNames,
) {
    private val subnets = SubnetJson(names)

    fun of(map: FabricMap): JsonObject =
        buildJsonObject {
            putJsonArray("nodes") {
                for (node in map.nodes) {
                    addJsonObject {
                        with(subnets) { head(node.node) }
                        put("level", node.level)
                        put("chassis", node.chassis)
                        put("hiddenHosts", node.hiddenHosts)
                        put("x", node.x)
                        put("y", node.y)
                    }
                }
            }
            putJsonArray("links") {
                for (link in map.links) {
                    for (each in link.links) {
                        addJsonObject {
                            putJsonObject("a") { with(subnets) { end(each.a) } }
                            putJsonObject("b") { with(subnets) { end(each.b) } }
                            put("rate", each.rate?.toString())
                            put("state", "${map.state(each)}")
                        }
                    }
                }
            }
        }
}
