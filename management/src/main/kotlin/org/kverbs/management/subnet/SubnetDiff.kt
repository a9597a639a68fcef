package org.kverbs.management.subnet

/**
 * What is different between two subnets. A node is the same if it has the same GUID, a port if it has the same number
 * at the same node, a link if it is between the same ports.
 *
 * @property addedNodes the nodes that only the newer subnet has
 * @property removedNodes the nodes that only the older subnet has
 * @property changedNodes the nodes with another name or another number of ports
 * @property addedPorts the ports that only the newer subnet has, at nodes that both have
 * @property removedPorts the ports that only the older subnet has, at nodes that both have
 * @property changedPorts the ports with another state or LID
 * @property addedLinks the links that only the newer subnet has
 * @property removedLinks the links that only the older subnet has
 * @property changedLinks the links that run at another rate
 */
public class SubnetDiff internal constructor(
    public val addedNodes: List<SubnetNode>,
    public val removedNodes: List<SubnetNode>,
    public val changedNodes: List<Changed<SubnetNode>>,
    public val addedPorts: List<SubnetPort>,
    public val removedPorts: List<SubnetPort>,
    public val changedPorts: List<Changed<SubnetPort>>,
    public val addedLinks: List<SubnetLink>,
    public val removedLinks: List<SubnetLink>,
    public val changedLinks: List<Changed<SubnetLink>>,
) {
    private val lines: List<String>
        get() =
            removedNodes.map { "- node $it" } + addedNodes.map { "+ node $it" } + changedNodes.map { "~ node $it" } +
                removedPorts.map { "- port $it" } + addedPorts.map { "+ port $it" } +
                changedPorts.map { "~ port $it" } + removedLinks.map { "- link $it" } +
                addedLinks.map { "+ link $it" } + changedLinks.map { "~ link $it" }

    /** Whether nothing is different. */
    public val isEmpty: Boolean get() = lines.isEmpty()

    /** Returns a line for each difference, with `+`, `-` or `~` before it; without control characters. */
    override fun toString(): String = lines.joinToString("\n")
}
