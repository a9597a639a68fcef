package org.kverbs.management.subnet

import org.kverbs.structures.Guid

/**
 * Several nodes of one machine, such as the line and spine boards of a big switch, or the adapters of a host.
 *
 * @property guid the system image GUID that the nodes share
 * @property nodes the nodes, in the order of their GUIDs
 */
public class Chassis internal constructor(
    public val guid: Guid,
    public val nodes: List<SubnetNode>,
) {
    /** The links that lead from one of the nodes to another one. */
    public val internalLinks: List<SubnetLink>
        get() {
            val own = nodes.toSet()
            return nodes
                .flatMap { it.ports }
                .mapNotNull { it.link }
                .distinct()
                .filter { link -> link.ends.all { it.node in own } }
        }

    /** Returns the GUID and the number of nodes. */
    override fun toString(): String = "chassis $guid of ${nodes.size} nodes"
}
