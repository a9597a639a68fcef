package org.kverbs.management.subnet

/**
 * Width and speed of a link.
 *
 * @property lanes the number of lanes
 * @property speed the speed of each lane
 */
public data class LinkRate(
    public val lanes: Int,
    public val speed: LaneSpeed,
) {
    /** The gigabits a second of all lanes on the wire. */
    public val gigabits: Double get() = lanes * speed.gigabits

    /** Returns the form `4xQDR`. */
    override fun toString(): String = "${lanes}x$speed"
}
