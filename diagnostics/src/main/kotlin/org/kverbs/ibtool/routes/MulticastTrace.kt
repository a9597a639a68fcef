package org.kverbs.ibtool.routes

import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.management.path.DirectedPath
import org.kverbs.management.structures.MulticastForwardingTable
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortPhysicalState
import org.kverbs.management.structures.SwitchInfo
import org.kverbs.management.transaction.MadException

/** Follows the tree of a multicast group from a port to another one, breadth first. */
internal class MulticastTrace(
    private val session: Session,
    private val group: Int,
    private val goal: Long,
) {
    /** A node of the tree, and how the search came to it. */
    class Branch(
        val stop: Stop,
        val up: Branch?,
        val out: Int,
        val path: DirectedPath,
    )

    /** Returns the branches from the beginning to the goal. */
    suspend fun find(from: DirectedPath): List<Branch> {
        val root = Branch(Stop.at(session, from), null, 0, from)
        if (root.stop.portGuid == goal) {
            if (!root.stop.isSwitch) throw DiagnosticException("ibtracert from CA to CA is unsupported")
            return listOf(root)
        }
        val known = hashSetOf(root.stop.node.nodeGUID.value)
        var level = listOf(root)
        repeat(DirectedPath.MAX_HOPS) {
            val next = ArrayDeque<Branch>()
            for (branch in level) {
                for (found in beyond(branch)) {
                    if (found.stop.portGuid == goal) return generateSequence(found) { it.up }.toList().asReversed()
                    // The last found of a level is the first of the next one, as in infiniband-diags.
                    if (known.add(found.stop.node.nodeGUID.value)) next.addFirst(found)
                    if (known.size > MOST_NODES) throw lost("there are more than $MOST_NODES nodes on its tree")
                }
            }
            level = next
        }
        throw DiagnosticException(NOT_FOUND)
    }

    private fun lost(why: String) = DiagnosticException("$NOT_FOUND: $why")

    private suspend fun beyond(branch: Branch): List<Branch> {
        val stop = branch.stop
        if (!stop.isSwitch) return if (branch.up == null) listOfNotNull(first(branch)) else emptyList()
        if (branch.path.length >= DirectedPath.MAX_HOPS) return emptyList()
        return ports(branch).filter { it != stop.port || branch.up == null }.mapNotNull { port ->
            val info = session.get<PortInfo>(branch.path, port)
            if (info.portPhysicalState == PortPhysicalState.LINK_UP) reach(branch, port, branch.path + port) else null
        }
    }

    /** From an adapter the way leads back by the last hop of its path, or out of this program's own port. */
    private suspend fun first(root: Branch): Branch? {
        val path = root.path
        if (path.length == 0) return reach(root, root.stop.port, path + root.stop.port)
        val back = reach(root, root.stop.port, DirectedPath(path.hops.dropLast(1))) ?: return null
        return Branch(back.stop.by(path.hops.last()), root, root.stop.port, back.path)
    }

    private suspend fun reach(
        from: Branch,
        port: Int,
        path: DirectedPath,
    ): Branch? =
        try {
            Branch(Stop.at(session, path), from, port, path)
        } catch (e: MadException) {
            session.warn("NodeInfo on $path port $port failed, skipping port: ${e.message}")
            null
        }

    private suspend fun ports(branch: Branch): List<Int> {
        val info = session.get<SwitchInfo>(branch.path)
        val index = group - FIRST
        if (index !in 0 until info.multicastFDBCap) return emptyList()
        val ports = branch.stop.node.numPorts
        return (0 until (ports + PORTS - 1) / PORTS)
            .flatMap { position ->
                val modifier = index / BLOCK or (position shl POSITION)
                val mask =
                    session.get<MulticastForwardingTable>(branch.path, modifier).portMaskBlock[
                        index %
                            BLOCK,
                    ]
                (0 until PORTS).filter { mask shr it and 1 != 0 }.map { position * PORTS + it }
            }.filter { it in 1..ports }
    }

    private companion object {
        private const val NOT_FOUND = "can't find a multicast route from src to dest"

        /** A subnet has no more LIDs, and each node needs one. */
        private const val MOST_NODES = 0xbfff
        private const val FIRST = 0xc000
        private const val BLOCK = 32
        private const val PORTS = 16
        private const val POSITION = 28
    }
}
