package org.kverbs.ibtool.map

import org.kverbs.management.subnet.LaneSpeed
import org.kverbs.management.subnet.SubnetLink

/**
 * All links between two nodes, which a map draws as one line.
 *
 * @property state the worst state of the links
 */
internal class MapLink(
    val a: MapNode,
    val b: MapNode,
    val links: List<SubnetLink>,
    val state: State,
) {
    /** What a line says of its links, the worst last. */
    enum class State {
        GOOD,
        NOT_ACTIVE,
        BELOW_RATE,
        ERRORS,
    }

    /** The slowest speed, or null if it is not known. */
    val speed: LaneSpeed? get() = links.mapNotNull { it.rate?.speed }.minOrNull()
}
