package org.kverbs.ibtool.fabric

import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonObjectBuilder
import kotlinx.serialization.json.addJsonObject
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonArray
import kotlinx.serialization.json.putJsonObject
import org.kverbs.ibtool.session.NodeNames
import org.kverbs.management.subnet.Changed
import org.kverbs.management.subnet.SubnetDiff
import org.kverbs.management.subnet.SubnetLink
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.management.subnet.SubnetPort

/** The JSON of `subnet_diff`: a list for each kind of difference. */
internal class SubnetDiffJson(
    names: NodeNames,
) {
    private val json = SubnetJson(names)

    fun of(diff: SubnetDiff): JsonObject =
        buildJsonObject {
            list("removedNodes", diff.removedNodes) { node(it) }
            list("addedNodes", diff.addedNodes) { node(it) }
            changed("changedNodes", diff.changedNodes) { node(it) }
            list("removedPorts", diff.removedPorts) { port(it) }
            list("addedPorts", diff.addedPorts) { port(it) }
            changed("changedPorts", diff.changedPorts) { port(it) }
            list("removedLinks", diff.removedLinks) { link(it) }
            list("addedLinks", diff.addedLinks) { link(it) }
            changed("changedLinks", diff.changedLinks) { link(it) }
        }

    private fun JsonObjectBuilder.node(node: SubnetNode) = with(json) { head(node) }

    private fun JsonObjectBuilder.port(port: SubnetPort) = with(json) { end(port) }

    private fun JsonObjectBuilder.link(link: SubnetLink) {
        putJsonObject("a") { port(link.a) }
        putJsonObject("b") { port(link.b) }
        put("rate", link.rate?.toString())
    }

    private fun <T> JsonObjectBuilder.list(
        name: String,
        all: List<T>,
        one: JsonObjectBuilder.(T) -> Unit,
    ) = putJsonArray(name) { all.forEach { addJsonObject { one(it) } } }

    private fun <T> JsonObjectBuilder.changed(
        name: String,
        all: List<Changed<T>>,
        one: JsonObjectBuilder.(T) -> Unit,
    ) = putJsonArray(name) {
        for (change in all) {
            addJsonObject {
                one(change.after)
                putJsonArray("fields") {
                    for (field in change.fields) {
                        addJsonObject {
                            put("name", field.name)
                            put("before", field.before)
                            put("after", field.after)
                        }
                    }
                }
            }
        }
    }
}
