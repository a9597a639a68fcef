package org.kverbs.management.subnet

import org.kverbs.structures.Guid

/** Compares two subnets. */
internal class Differences(
    private val before: Subnet,
    private val after: Subnet,
) {
    /** A link without the subnet that it is in. */
    private data class Ends(
        val a: Guid,
        val aPort: Int,
        val b: Guid,
        val bPort: Int,
    )

    private val bothNodes = before.nodes.mapNotNull { old -> after.node(old.guid)?.let { old to it } }

    fun find(): SubnetDiff {
        val oldLinks = before.links.associateBy(::ends)
        val newLinks = after.links.associateBy(::ends)
        return SubnetDiff(
            addedNodes = after.nodes.filter { before.node(it.guid) == null },
            removedNodes = before.nodes.filter { after.node(it.guid) == null },
            changedNodes = bothNodes.mapNotNull { (old, new) -> changed(old, new, nodeFields(old), nodeFields(new)) },
            addedPorts = bothNodes.flatMap { (old, new) -> new.ports.filter { old.port(it.number) == null } },
            removedPorts = bothNodes.flatMap { (old, new) -> old.ports.filter { new.port(it.number) == null } },
            changedPorts = bothNodes.flatMap { (old, new) -> changedPorts(old, new) },
            addedLinks = newLinks.filterKeys { it !in oldLinks }.values.toList(),
            removedLinks = oldLinks.filterKeys { it !in newLinks }.values.toList(),
            changedLinks =
                oldLinks.mapNotNull { (ends, old) ->
                    newLinks[ends]?.let { changed(old, it, linkFields(old), linkFields(it)) }
                },
        )
    }

    private fun ends(link: SubnetLink) = Ends(link.a.node.guid, link.a.number, link.b.node.guid, link.b.number)

    private fun changedPorts(
        old: SubnetNode,
        new: SubnetNode,
    ): List<Changed<SubnetPort>> =
        old.ports.mapNotNull { port ->
            new.port(port.number)?.let { changed(port, it, portFields(port), portFields(it)) }
        }

    private fun nodeFields(node: SubnetNode) =
        listOf(
            "name" to "\"${node.name}\"",
            "type" to "${node.type}",
            "ports" to "${node.portCount}",
            "system image GUID" to "${node.systemImageGuid}",
        )

    private fun portFields(port: SubnetPort): List<Pair<String, String>> {
        val state = listOf("state" to "${port.state}", "physical state" to "${port.physicalState}")
        // The ports of a switch have the LID of its port 0, where it is told once.
        if (port.number > 0 && port.node.isSwitch) return state
        return state + listOf("LID" to "${port.lid}", "LMC" to "${port.lmc}", "GUID" to "${port.guid}")
    }

    private fun linkFields(link: SubnetLink) = listOf("rate" to "${link.rate}")

    private fun <T> changed(
        before: T,
        after: T,
        old: List<Pair<String, String>>,
        new: List<Pair<String, String>>,
    ): Changed<T>? {
        val values = new.toMap()
        val fields =
            old.mapNotNull { (name, value) ->
                values[name]?.takeIf { it != value }?.let { ChangedField(name, value, it) }
            }
        return if (fields.isEmpty()) null else Changed(before, after, fields)
    }
}
