package org.kverbs.management.check

import org.kverbs.management.structures.NodeType
import org.kverbs.management.subnet.Changed
import org.kverbs.management.subnet.ChangedField
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.SubnetLink
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.management.subnet.SubnetPort

/**
 * Compares the subnet with the one that it must be like, by the names of the nodes and the numbers of the ports. GUIDs
 * and LIDs do not matter, so that an exchanged adapter with the name of the old one is no difference.
 *
 * @param expected the subnet as planned, such as one that was saved, or that was discovered on a simulated fabric of a
 *   net file
 */
public fun Subnet.compareByName(expected: Subnet): NameDiff {
    val now = Named(this)
    val then = Named(expected)
    return NameDiff(
        missingNodes = then.nodes.filterKeys { it !in now.nodes }.values.toList(),
        unexpectedNodes = now.nodes.filterKeys { it !in then.nodes }.values.toList(),
        missingLinks = then.links.filterKeys { it !in now.links }.values.toList(),
        unexpectedLinks = now.links.filterKeys { it !in then.links }.values.toList(),
        changedLinks =
            then.links.mapNotNull { (ends, old) ->
                val new = now.links[ends] ?: return@mapNotNull null
                val rates = "${old.rate}" to "${new.rate}"
                if (old.rate == null || new.rate == null || old.rate == new.rate) return@mapNotNull null
                Changed(old, new, listOf(ChangedField("rate", rates.first, rates.second)))
            },
        ambiguousNames = (now.ambiguous + then.ambiguous).toSortedSet(),
    )
}

/** A subnet's nodes and links by names. */
private class Named(
    subnet: Subnet,
) {
    data class Key(
        val name: String,
        val type: NodeType,
    )

    data class End(
        val node: Key,
        val port: Int,
    )

    val ambiguous = HashSet<String>()
    val nodes = LinkedHashMap<Key, SubnetNode>()
    val links: Map<Set<End>, SubnetLink>

    init {
        for (node in subnet.nodes) {
            if (nodes.putIfAbsent(key(node), node) != null) ambiguous += node.name
        }
        links = subnet.links.filter { link -> link.ends.all(::isCompared) }.associateBy { it.ends.map(::end).toSet() }
    }

    private fun key(node: SubnetNode) = Key(node.name, node.type)

    private fun isCompared(port: SubnetPort) = nodes[key(port.node)] == port.node

    private fun end(port: SubnetPort) = End(key(port.node), port.number)
}
