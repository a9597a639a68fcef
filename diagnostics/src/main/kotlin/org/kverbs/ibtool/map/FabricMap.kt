package org.kverbs.ibtool.map

import org.kverbs.ibtool.counters.PortReadings
import org.kverbs.ibtool.counters.Thresholds
import org.kverbs.ibtool.session.NodeNames
import org.kverbs.management.structures.PortState
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.SubnetLink
import org.kverbs.management.subnet.SubnetNode

/** The nodes and lines of a map of a subnet. */
internal class FabricMap(
    private val subnet: Subnet,
    private val names: NodeNames,
    private val wishes: Wishes,
) {
    /**
     * What the options ask for.
     *
     * @property readings the counters, or null if they were not asked for
     * @property hidden the counters that are no errors
     */
    class Wishes(
        val hasHosts: Boolean,
        val readings: PortReadings? = null,
        val limits: Thresholds = Thresholds.none,
        val hidden: Set<String> = emptySet(),
    )

    private val levels = Levels(subnet)
    private val chassis =
        subnet.chassis
            .flatMapIndexed { number, chassis -> chassis.nodes.map { it to number + 1 } }
            .toMap()

    /** The nodes, each row after the other, from left to right. */
    val nodes: List<MapNode> =
        MapLayout(
            subnet.nodes.filter { wishes.hasHosts || levels.of(it) > 0 }.map(::node),
        ).place()

    private val byNode = nodes.associateBy { it.node }

    val links: List<MapLink> =
        subnet.links
            .filter { link -> link.ends.all { it.node in byNode } }
            .groupBy { link -> link.a.node to link.b.node }
            .map { (ends, links) ->
                MapLink(byNode.getValue(ends.first), byNode.getValue(ends.second), links, links.maxOf(::state))
            }

    private fun node(node: SubnetNode): MapNode {
        val hosts = if (wishes.hasHosts) 0 else node.ports.count { port -> port.peer?.node?.let { levels.of(it) } == 0 }
        return MapNode(node, names.of(node), levels.of(node), chassis[node], hosts)
    }

    /** The state of one link. */
    fun state(link: SubnetLink): MapLink.State =
        when {
            hasErrors(link) -> MapLink.State.ERRORS
            link.isSlowerThanEnabled || link.isNarrowerThanEnabled -> MapLink.State.BELOW_RATE
            link.ends.any { it.state != PortState.ACTIVE } -> MapLink.State.NOT_ACTIVE
            else -> MapLink.State.GOOD
        }

    private fun hasErrors(link: SubnetLink): Boolean =
        link.ends.any { end ->
            wishes.readings?.of(end)?.errors.orEmpty().any { (name, value) ->
                name !in wishes.hidden && wishes.limits.isExceeded(name, value)
            }
        }
}
