package org.kverbs.management.subnet

import org.kverbs.management.path.DirectedPath
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.SwitchInfo
import org.kverbs.structures.Guid

/**
 * A node of a [Subnet]: a switch, a host's adapter or a router. Two are equal if they are the same node of one subnet.
 */
public class SubnetNode internal constructor(
    /** The subnet that the node is a part of. */
    public val subnet: Subnet,
    internal val index: Int,
) {
    /** The identifier of the node. */
    public val guid: Guid get() = Guid(subnet.data.guids[index])

    /** What the node says of itself; a view that cannot be written. The port that it names is the one found first. */
    public val info: NodeInfo get() = subnet.data.nodeInfo(index)

    /** The kind of node. */
    public val type: NodeType get() = info.nodeType

    /** Whether the node is a switch. */
    public val isSwitch: Boolean get() = type == NodeType.SWITCH

    /** The identifier that the parts of one machine share. */
    public val systemImageGuid: Guid get() = info.systemImageGUID

    /** How many ports the node has; port 0 of a switch does not count. */
    public val portCount: Int get() = info.numPorts

    /** The name as the node has it, byte for byte; a view that cannot be written. Zeros if the node did not tell. */
    public val nodeDescription: NodeDescription get() = subnet.data.description(index)

    /** The name of the node, in which `?` stands for what is not safe to print. Empty if the node did not tell it. */
    public val name: String get() = SafeText.of(nodeDescription.nodeString)

    /** What a switch says of its tables; a view that cannot be written. Null for other nodes, or without an answer. */
    public val switchInfo: SwitchInfo? get() = subnet.data.switchInfo(index)

    /** The ports that were found, by their numbers. A switch has port 0, too, for its own management. */
    public val ports: List<SubnetPort> get() = subnet.data.ports(index).map { SubnetPort(subnet, it) }

    /** Returns the port with this number, or null if it was not found. */
    public fun port(number: Int): SubnetPort? =
        subnet.data.port(index, number).takeIf { it >= 0 }?.let { SubnetPort(subnet, it) }

    /** The path by which the discovery came here from [Subnet.here]. */
    public val path: DirectedPath get() = subnet.pathTo(index)

    /** The problems of this node and of its ports. */
    public val problems: List<SubnetProblem> get() = subnet.problems.filter { it.node == guid }

    /** Returns whether [other] is the same node of the same subnet. */
    override fun equals(other: Any?): Boolean = other is SubnetNode && other.subnet === subnet && other.index == index

    /** Returns a hash of the GUID. */
    override fun hashCode(): Int = guid.hashCode()

    /** Returns type, GUID and name in one line without control characters. */
    override fun toString(): String = "$type $guid \"$name\""
}
