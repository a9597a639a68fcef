package org.kverbs.management.subnet

/**
 * A node, port or link that is in two subnets, but not the same.
 *
 * @property before it in the older subnet
 * @property after it in the newer subnet
 * @property fields what changed
 */
public class Changed<T> internal constructor(
    public val before: T,
    public val after: T,
    public val fields: List<ChangedField>,
) {
    /** Returns what it is, and what changed, in one line without control characters. */
    override fun toString(): String = "$after: ${fields.joinToString()}"
}
