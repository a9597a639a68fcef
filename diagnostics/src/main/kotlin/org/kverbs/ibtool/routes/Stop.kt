package org.kverbs.ibtool.routes

import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import org.kverbs.ibtool.fabric.SubnetJson
import org.kverbs.ibtool.session.NodeNames
import org.kverbs.ibtool.session.Session
import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortState

/** A node on a route, and the port by which the route comes to it. */
internal class Stop(
    val node: NodeInfo,
    val name: String,
    val ownName: String,
    val info: PortInfo,
    val port: Int,
) {
    val isSwitch: Boolean get() = node.nodeType == NodeType.SWITCH
    val portGuid: Long get() = node.portGUID.value
    val lid: Int get() = info.lid.value
    val isActive: Boolean get() = info.portState == PortState.ACTIVE

    /** `ca`, `switch` or `router`. */
    val type: String
        get() =
            when (node.nodeType) {
                NodeType.CA -> "ca"
                NodeType.SWITCH -> "switch"
                NodeType.ROUTER -> "router"
                else -> "???"
            }

    /** `lid 4-4 "name"`. */
    val lidsAndName: String get() = "lid $lid-${lid + (1 shl info.lmc) - 1} \"$name\""

    /** The same stop, come to by another port. */
    fun by(port: Int): Stop = Stop(node, name, ownName, info, port)

    fun json(out: Int?): JsonObject =
        buildJsonObject {
            if (out != null) put("out", out)
            put("type", type)
            put("guid", SubnetJson.guid(node.nodeGUID.value))
            put("portGuid", SubnetJson.guid(portGuid))
            put("port", port)
            put("lid", lid)
            put("name", name)
        }

    companion object {
        suspend fun at(
            session: Session,
            path: MadPath,
        ): Stop {
            val node = session.get<NodeInfo>(path)
            val description = session.get<NodeDescription>(path)
            val info = session.get<PortInfo>(path)
            val name = session.names.of(node.nodeGUID, description)
            return Stop(node, name, NodeNames.clean(description), info, node.localPortNum)
        }
    }
}
