package org.kverbs.ibtool.map

import org.kverbs.management.subnet.SubnetNode

/**
 * A node of a map.
 *
 * @property level its row: 0 for hosts, 1 for switches with hosts, and so on
 * @property chassis the number of its chassis from 1 on, or null if it is in none with others
 * @property hiddenHosts how many hosts at it are not drawn
 */
internal class MapNode(
    val node: SubnetNode,
    val name: String,
    val level: Int,
    val chassis: Int?,
    val hiddenHosts: Int,
) {
    /** The middle of the node, in pixels from the left upper corner. */
    var x: Int = 0
    var y: Int = 0
}
