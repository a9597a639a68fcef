package org.kverbs.ibtool.fabric

import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonObjectBuilder
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.addJsonObject
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonArray
import kotlinx.serialization.json.putJsonObject
import org.kverbs.ibtool.session.NodeNames
import org.kverbs.ibtool.session.hex16
import org.kverbs.management.structures.NodeType
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.management.subnet.SubnetPort

/** Subnets, nodes and ports as JSON, the same in all commands. */
internal class SubnetJson(
    private val names: NodeNames,
) {
    /** The subnet with [nodes] in their order, and those of their ports that [isShown] chooses. */
    fun of(
        subnet: Subnet,
        nodes: List<SubnetNode>,
        isShown: (SubnetPort) -> Boolean = { true },
    ): JsonObject =
        buildJsonObject {
            subnet.here?.let { here -> putJsonObject("from") { end(here) } }
            putJsonArray("nodes") { nodes.forEach { addJsonObject { node(it, isShown) } } }
            putJsonArray("problems") { subnet.problems.forEach { add(JsonPrimitive("$it")) } }
        }

    /** A node without its ports. */
    fun JsonObjectBuilder.head(node: SubnetNode) {
        put("type", type(node))
        put("guid", guid(node.guid.value))
        put("name", names.of(node))
    }

    private fun JsonObjectBuilder.node(
        node: SubnetNode,
        isShown: (SubnetPort) -> Boolean,
    ) {
        head(node)
        put("systemImageGuid", guid(node.systemImageGuid.value))
        put("vendorId", node.info.vendorID)
        put("deviceId", node.info.deviceID)
        put("portCount", node.portCount)
        node.port(0)?.let {
            put("lid", it.lid.value)
            put("lmc", it.lmc)
        }
        putJsonArray(
            "ports",
        ) { node.ports.filter { it.number > 0 && isShown(it) }.forEach { addJsonObject { port(it) } } }
    }

    /** A port with its state and what it is linked with. */
    fun JsonObjectBuilder.port(port: SubnetPort) {
        put("number", port.number)
        put("guid", guid(port.guid.value))
        put("lid", port.lid.value)
        put("lmc", port.lmc)
        put("state", port.state?.let { name(it) })
        put("physicalState", port.physicalState?.let { name(it) })
        if (port.peer != null) {
            put("width", LinkText.width(port))
            put("speed", LinkText.speed(port))
        }
        port.peer?.let { peer -> putJsonObject("peer") { end(peer) } }
    }

    /** A port as the end of a link. */
    fun JsonObjectBuilder.end(port: SubnetPort) {
        head(port.node)
        put("portGuid", guid(port.guid.value))
        put("port", port.number)
        put("lid", port.lid.value)
    }

    private fun name(value: Any): String = "$value".substringBefore('(')

    companion object {
        /** `0x0002c90200000010`. */
        fun guid(value: Long): String = "0x${hex16(value)}"

        fun type(node: SubnetNode): String = type(node.type)

        fun type(type: NodeType): String =
            when (type) {
                NodeType.SWITCH -> "switch"
                NodeType.CA -> "ca"
                NodeType.ROUTER -> "router"
                else -> "unknown"
            }
    }
}
