package org.kverbs.management.subnet

/**
 * One thing that changed.
 *
 * @property name what it is, such as `state`
 * @property before the text of the older value
 * @property after the text of the newer value
 */
public data class ChangedField(
    public val name: String,
    public val before: String,
    public val after: String,
) {
    /** Returns the form `state ACTIVE(4) -> DOWN(1)`. */
    override fun toString(): String = "$name $before -> $after"
}
