package org.kverbs.management.subnet

import org.kverbs.structures.Guid

/**
 * Which GUIDs of a saved subnet get other values: what [withGuids] takes. Each function can be called several times.
 *
 * Threads: one at a time.
 */
public class GuidChanges internal constructor(
    private val subnet: Subnet,
) {
    internal val nodes = HashMap<Guid, Guid>()
    internal val images = HashMap<Guid, Guid>()
    internal val ports = HashMap<Pair<Guid, Guid>, Guid>()

    /**
     * Gives a switch another GUID. Its ports have the same one.
     *
     * @throws IllegalArgumentException if the subnet has no such switch, or [after] is zero
     */
    public fun switch(
        before: Guid,
        after: Guid,
    ) {
        require(subnet.node(before)?.isSwitch == true) { "the subnet has no switch with GUID $before" }
        nodes[before] = checked(after)
    }

    /**
     * Gives an adapter or a router another GUID. Its ports keep theirs.
     *
     * @throws IllegalArgumentException if the subnet has no such node, or [after] is zero
     */
    public fun adapter(
        before: Guid,
        after: Guid,
    ) {
        require(subnet.node(before)?.isSwitch == false) { "the subnet has no adapter with GUID $before" }
        nodes[before] = checked(after)
    }

    /**
     * Gives all nodes of a machine another system image GUID.
     *
     * @throws IllegalArgumentException if no node has [before]
     */
    public fun systemImage(
        before: Guid,
        after: Guid,
    ) {
        require(subnet.nodes.any { it.systemImageGuid == before }) { "no node has the system image GUID $before" }
        images[before] = after
    }

    /**
     * Gives a port of a node another GUID. A port of a switch has the GUID of its switch, so the switch gets it, too.
     *
     * @param node the GUID that the node has now
     * @throws IllegalArgumentException if the subnet has no such node or port, or [after] is zero
     */
    public fun port(
        node: Guid,
        before: Guid,
        after: Guid,
    ) {
        val found = requireNotNull(subnet.node(node)) { "the subnet has no node with GUID $node" }
        require(found.ports.any { it.guid == before }) { "node $node has no port with GUID $before" }
        if (found.isSwitch) nodes[node] = checked(after) else ports[node to before] = checked(after)
    }

    private fun checked(guid: Guid): Guid = guid.also { require(it.value != 0L) { "a GUID is not zero" } }
}
