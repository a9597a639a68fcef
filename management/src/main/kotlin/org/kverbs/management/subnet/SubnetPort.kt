package org.kverbs.management.subnet

import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PortCapabilityMask
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortInfoExtended
import org.kverbs.management.structures.PortPhysicalState
import org.kverbs.management.structures.PortState
import org.kverbs.structures.Guid
import org.kverbs.structures.Lid

/** A port of a [SubnetNode]. Two are equal if they are the same port of one subnet. */
public class SubnetPort internal constructor(
    /** The subnet that the port is a part of. */
    public val subnet: Subnet,
    internal val index: Int,
) {
    private val data get() = subnet.data

    /** The node that has the port. */
    public val node: SubnetNode get() = SubnetNode(subnet, data.nodeOf(index))

    /** The number of the port at its node, from 1 on; 0 is where a switch manages itself. */
    public val number: Int get() = data.number(index)

    /** The identifier of the port; the ports of a switch share one. Zero if it is not known. */
    public val guid: Guid get() = Guid(data.portGuids[index])

    /** State and configuration; a view that cannot be written. Null if the node did not answer. */
    public val info: PortInfo? get() = data.portInfo(index)

    /** The error correction of the link, where the node says that it can tell; a view that cannot be written. */
    public val extended: PortInfoExtended? get() = data.extended(index)

    /** The logical state; null if the node did not answer. */
    public val state: PortState? get() = info?.portState

    /** The physical state; null if the node did not answer. */
    public val physicalState: PortPhysicalState? get() = info?.portPhysicalState

    /** The LID by which the port is reached: for ports of a switch that of its port 0. 0 if there is none. */
    public val lid: Lid get() = addressed?.lid ?: Lid(0)

    /** How many low bits of the LID the port ignores: it has 2 to the power of this many LIDs. */
    public val lmc: Int get() = addressed?.lmc ?: 0

    /** The port at the other end of the link, or null. */
    public val peer: SubnetPort? get() = data.peers[index].takeIf { it != NONE }?.let { SubnetPort(subnet, it) }

    /** The link of the port, or null. Both ends return the same link. */
    public val link: SubnetLink? get() = peer?.let { SubnetLink.of(this, it) }

    /** What the link runs at as this port has it, or null if that is not known. */
    public val rate: LinkRate? get() = info?.let { Rates.active(it, data.hasFlag(index, SubnetData.RUNS_FDR10)) }

    /** The problems of this port. */
    public val problems: List<SubnetProblem>
        get() {
            val guid = node.guid
            return subnet.problems.filter { it.node == guid && it.port == number }
        }

    internal val supportedSpeeds: Int
        get() {
            val own = info ?: return 0
            return Rates.supportedSpeeds(own, capabilities(own), data.hasFlag(index, SubnetData.KNOWS_FDR10))
        }

    internal val enabledSpeeds: Int
        get() {
            val own = info ?: return 0
            return Rates.enabledSpeeds(own, capabilities(own), data.hasFlag(index, SubnetData.RUNS_FDR10))
        }

    /** What a switch can do is written at its port 0. */
    private fun capabilities(own: PortInfo): PortCapabilityMask = (addressed ?: own).capabilityMask

    private val addressed: PortInfo?
        get() {
            val node = data.nodeOf(index)
            val isOfSwitch = data.nodeInfo(node).nodeType == NodeType.SWITCH
            val at = if (isOfSwitch) data.port(node, 0) else index
            return if (at == NONE) null else data.portInfo(at)
        }

    /** Returns whether [other] is the same port of the same subnet. */
    override fun equals(other: Any?): Boolean = other is SubnetPort && other.subnet === subnet && other.index == index

    /** Returns a hash of the place in the subnet. */
    override fun hashCode(): Int = index

    /** Returns the form `"name" 0002:c903:0000:1491 port 1`, without control characters. */
    override fun toString(): String = node.let { "\"${it.name}\" ${it.guid} port $number" }
}
