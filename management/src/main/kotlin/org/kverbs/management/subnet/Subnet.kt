package org.kverbs.management.subnet

import org.kverbs.management.path.DirectedPath
import org.kverbs.management.structures.NodeType
import org.kverbs.structures.Guid
import org.kverbs.structures.Lid

/**
 * The nodes, ports and links of a subnet as a discovery found them. It does not change.
 *
 * ```
 * val subnet = fabric.discover()
 * subnet.links.filter { it.isSlowerThanPossible }.forEach(::println)
 * ```
 *
 * Nodes, ports and links are views, which are made when a program asks for them. All lists are in the order of the
 * nodes' GUIDs and the ports' numbers, whatever the order of discovery was.
 *
 * Threads: any.
 */
public class Subnet internal constructor(
    internal val data: SubnetData,
) {
    /** The port where the discovery began, or null if it did not begin at one. */
    public val here: SubnetPort? get() = data.here.takeIf { it != NONE }?.let { SubnetPort(this, it) }

    /** All nodes. */
    public val nodes: List<SubnetNode> = Views(data.nodeCount) { SubnetNode(this, it) }

    /** All ports of all nodes, port 0 of the switches among them. */
    public val ports: List<SubnetPort> = Views(data.portCount) { SubnetPort(this, it) }

    /** The switches. */
    public val switches: List<SubnetNode> get() = nodes.filter { it.isSwitch }

    /** The adapters of hosts. */
    public val hosts: List<SubnetNode> get() = nodes.filter { it.type == NodeType.CA }

    /** The routers to other subnets. */
    public val routers: List<SubnetNode> get() = nodes.filter { it.type == NodeType.ROUTER }

    /** All links. */
    public val links: List<SubnetLink> by lazy {
        val starts = data.peers.indices.filter { isFirstEnd(it) }.toIntArray()
        Views(starts.size) { SubnetLink.of(ports[starts[it]], ports[data.peers[starts[it]]]) }
    }

    /** What is wrong, or could not be found out. Empty if each port answered, and no answer contradicts another. */
    public val problems: List<SubnetProblem> get() = data.problems

    private val lids by lazy { LidIndex(this) }

    /** Returns the node with this GUID, or null. */
    public fun node(guid: Guid): SubnetNode? = data.node(guid.value).takeIf { it >= 0 }?.let { SubnetNode(this, it) }

    /** Returns the port with this GUID, or null. For a switch that is its port 0. */
    public fun port(guid: Guid): SubnetPort? =
        data.portGuids
            .indexOf(guid.value)
            .takeIf { it != NONE && guid.value != 0L }
            ?.let { SubnetPort(this, it) }

    /** Returns the port that has this LID, or null. For a switch that is its port 0. */
    public fun port(lid: Lid): SubnetPort? = lids.port(lid)?.let { SubnetPort(this, it) }

    /** The LIDs that several ports have, and these ports. */
    public val duplicateLids: Map<Lid, List<SubnetPort>> get() = lids.duplicates()

    /** The GUIDs that several nodes have. Only one of these nodes is in [nodes]. */
    public val duplicateGuids: Set<Guid>
        get() = problems.filter { it.kind == SubnetProblemKind.DUPLICATE_GUID }.mapNotNull { it.node }.toSet()

    /**
     * Returns a way from one node to another over the fewest links, or null if there is none. Of several it is the one
     * by the lowest ports.
     *
     * @throws IllegalArgumentException if a node is of another subnet
     */
    public fun shortestRoute(
        from: SubnetNode,
        to: SubnetNode,
    ): SubnetRoute? {
        val stranger = listOf(from, to).firstOrNull { it.subnet !== this }
        require(stranger == null) { "$stranger is a node of another subnet" }
        return Routes(this).shortest(from.index, to.index)
    }

    /** The groups of nodes that share a system image GUID, in the order of these. A node alone is no group. */
    public val chassis: List<Chassis>
        get() =
            nodes
                .groupBy { it.systemImageGuid }
                .filter { (guid, nodes) -> guid.value != 0L && nodes.size > 1 }
                .map { (guid, nodes) -> Chassis(guid, nodes) }
                .sortedBy { it.guid.value }

    /** Returns what is different in [newer], which another discovery of the same subnet found later. */
    public fun changesTo(newer: Subnet): SubnetDiff = Differences(this, newer).find()

    /** Returns whether [other] has the same nodes, ports, links and problems, with all their attributes. */
    override fun equals(other: Any?): Boolean = other === this || (other is Subnet && other.data.isLike(data))

    /** Returns a hash of the nodes' GUIDs. */
    override fun hashCode(): Int = data.guids.contentHashCode()

    /** A link whose ends do not agree counts from each end that has it. */
    private fun isFirstEnd(port: Int): Boolean {
        val peer = data.peers[port]
        return peer != NONE && (port <= peer || data.peers[peer] != port)
    }

    internal fun pathTo(node: Int): DirectedPath {
        val hops = ArrayDeque<Int>()
        var at = node
        while (data.cameBy[at] != NONE) {
            hops.addFirst(data.number(data.cameBy[at]))
            at = data.nodeOf(data.cameBy[at])
        }
        hops.addFirst(0)
        return DirectedPath(hops)
    }

    /** Returns the numbers of nodes, links and problems. */
    override fun toString(): String = "${nodes.size} nodes, ${links.size} links, ${problems.size} problems"
}

/** A list whose elements are made when they are asked for. */
private class Views<T>(
    override val size: Int,
    private val view: (Int) -> T,
) : AbstractList<T>(),
    RandomAccess {
    override fun get(index: Int): T = view(java.util.Objects.checkIndex(index, size))
}
