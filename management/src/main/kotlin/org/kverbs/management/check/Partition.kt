package org.kverbs.management.check

import org.kverbs.management.subnet.SubnetPort

/**
 * A partition: ports that can talk with each other.
 *
 * @property key the 15 bits of its key, 0x7fff for the default partition
 * @property fullMembers the ports that can talk with all members
 * @property limitedMembers the ports that can talk with full members alone
 */
public class Partition internal constructor(
    public val key: Int,
    public val fullMembers: List<SubnetPort>,
    public val limitedMembers: List<SubnetPort>,
) {
    /** How many ports are members. A port that has both kinds of membership counts once. */
    public val size: Int get() = (fullMembers + limitedMembers).distinct().size

    /** Whether no two of its ports can talk: it has one member, or limited ones alone. */
    public val isUseless: Boolean get() = fullMembers.isEmpty() || size == 1

    /** Returns the key and the numbers of members. */
    override fun toString(): String =
        "partition 0x${key.toString(HEX).padStart(DIGITS, '0')}: ${fullMembers.size} full members, " +
            "${limitedMembers.size} limited members"

    private companion object {
        private const val HEX = 16
        private const val DIGITS = 4
    }
}
