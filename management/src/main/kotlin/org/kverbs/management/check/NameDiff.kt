package org.kverbs.management.check

import org.kverbs.management.subnet.Changed
import org.kverbs.management.subnet.SubnetLink
import org.kverbs.management.subnet.SubnetNode

/**
 * What is different between a subnet and the one that is expected. A node is the same if it has the same name and
 * type, a link if it is between the same ports of such nodes.
 *
 * @property missingNodes the expected nodes that are not there
 * @property unexpectedNodes the nodes that are not expected
 * @property missingLinks the expected links that are not there
 * @property unexpectedLinks the links that are not expected
 * @property changedLinks the links that run at another rate than expected
 * @property ambiguousNames the names that several nodes of a type have, in either subnet. Only the first of these
 *   nodes is compared.
 */
public class NameDiff internal constructor(
    public val missingNodes: List<SubnetNode>,
    public val unexpectedNodes: List<SubnetNode>,
    public val missingLinks: List<SubnetLink>,
    public val unexpectedLinks: List<SubnetLink>,
    public val changedLinks: List<Changed<SubnetLink>>,
    public val ambiguousNames: Set<String>,
) {
    private val lines: List<String>
        get() =
            ambiguousNames.map { "? several nodes have the name \"$it\"" } +
                missingNodes.map { "- node $it" } + unexpectedNodes.map { "+ node $it" } +
                missingLinks.map { "- link $it" } + unexpectedLinks.map { "+ link $it" } +
                changedLinks.map { "~ link $it" }

    /** Whether the subnet is as expected. */
    public val isEmpty: Boolean get() = lines.isEmpty()

    /** Returns a line for each difference, with `-` for what is missing; without control characters. */
    override fun toString(): String = lines.joinToString("\n")
}
