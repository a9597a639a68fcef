package org.kverbs.management.subnet

import org.kverbs.structures.Guid

/**
 * Something that is wrong with a subnet, or that the discovery could not find out.
 *
 * @property kind what is wrong
 * @property node the node that has the problem, or before which the problem is; null if the problem is not a node's
 * @property port the port of [node], or null if the problem is the whole node's
 * @property text a sentence that says what happened. It has no control characters.
 */
public data class SubnetProblem(
    public val kind: SubnetProblemKind,
    public val node: Guid?,
    public val port: Int?,
    public val text: String,
) {
    /** Returns kind, node, port and text in one line. */
    override fun toString(): String {
        val at = listOfNotNull(node?.toString(), port?.let { "port $it" }).joinToString(" ")
        return if (at.isEmpty()) "$kind: $text" else "$kind at $at: $text"
    }
}
