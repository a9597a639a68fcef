package org.kverbs.management.check

import org.kverbs.management.subnet.SubnetPort
import org.kverbs.structures.Lid

/**
 * A port whose packets the forwarding tables do not lead to a LID of another port.
 *
 * @property from the port that sends
 * @property to the port that has [lid]
 * @property lid the LID that is not reached
 * @property isCircle whether the tables lead the packets in a circle, where they stay until their lifetime ends
 * @property text a sentence that says where the route ends. It has no control characters.
 */
public class UnreachablePair internal constructor(
    public val from: SubnetPort,
    public val to: SubnetPort,
    public val lid: Lid,
    public val isCircle: Boolean,
    public val text: String,
) {
    /** Returns both ports and the reason in one line without control characters. */
    override fun toString(): String = "$from does not reach $to by the LID $lid: $text"
}
