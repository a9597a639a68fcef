package org.kverbs.ibtool.routes

import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.Target
import org.kverbs.management.path.DirectedPath
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.SwitchInfo
import org.kverbs.management.subnet.SubnetNode

/** A switch whose forwarding tables a command reads. */
internal class SwitchOf private constructor(
    val path: MadPath,
    private val shown: String,
    val node: NodeInfo,
    val info: SwitchInfo,
    val name: String,
) {
    /** Returns the path in the form of infiniband-diags. */
    override fun toString(): String = shown

    companion object {
        /** A switch of a discovery that was found by [path]; null if it has not told of its tables. */
        fun found(
            session: Session,
            switch: SubnetNode,
            path: DirectedPath,
        ): SwitchOf? {
            val info = switch.switchInfo ?: return null
            val shown = "DR path slid 0; dlid 0; ${path.hops.joinToString(",")}"
            // The administrator knows a switch by its LID.
            val lid = switch.port(0)?.lid?.takeIf { session.options.sa && it.isUnicast }
            return SwitchOf(lid?.let { LidPath(it) } ?: path, shown, switch.info, info, session.names.of(switch))
        }

        suspend fun at(
            session: Session,
            target: Target,
        ): SwitchOf {
            val node = session.get<NodeInfo>(target.path)
            val description = session.get<NodeDescription>(target.path)
            if (node.nodeType != NodeType.SWITCH) throw DiagnosticException("dump tables: not a switch")
            val info = session.get<SwitchInfo>(target.path)
            return SwitchOf(target.path, "$target", node, info, session.names.of(node.nodeGUID, description))
        }
    }
}
