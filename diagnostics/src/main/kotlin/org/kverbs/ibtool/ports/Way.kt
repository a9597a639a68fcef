package org.kverbs.ibtool.ports

import org.kverbs.ibtool.routes.RouteTrace
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.Target
import org.kverbs.management.path.DirectedPath
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.directed
import org.kverbs.management.structures.LinearForwardingTable
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType

private const val BLOCK = 64

/** The way from here to a target: what a command must not cut while it is needed. */
internal class Way(
    private val session: Session,
    private val target: Target,
    private val node: NodeInfo,
) {
    private val fabric get() = session.fabric

    /**
     * Returns the directed path to the target; to a LID it goes as the forwarding tables lead there.
     *
     * @throws DiagnosticException if the tables do not lead there
     */
    suspend fun directed(): DirectedPath =
        when (val path = target.path) {
            is DirectedPath -> path
            is LidPath -> RouteTrace(session, false).find(directed(0), path).path
        }

    /** Returns the ports of the target's node through which requests come to it and answers leave it. */
    suspend fun ports(): Set<Int> {
        val path = target.path
        if (path is DirectedPath) return portsOn(path)
        val there =
            try {
                portsOn(directed())
            } catch (_: DiagnosticException) {
                // A link on the way is not up, or the tables lead elsewhere: what the node says of itself is left.
                setOf(node.localPortNum)
            }
        return if (node.nodeType == NodeType.SWITCH) there + back() else there
    }

    private suspend fun portsOn(path: DirectedPath): Set<Int> {
        val last = fabric.get<NodeInfo>(path).localPortNum
        val earlier =
            (1 until path.hops.size).filter { hop ->
                fabric.get<NodeInfo>(DirectedPath(path.hops.take(hop))).nodeGUID == node.nodeGUID
            }
        return setOf(last) + earlier.map { path.hops[it] }
    }

    /** The port by which the answers of a switch leave it. */
    private suspend fun back(): Int {
        val lid = fabric.port().info.lid.value
        return fabric.get<LinearForwardingTable>(target.path, lid / BLOCK).portBlock[lid % BLOCK]
    }
}
