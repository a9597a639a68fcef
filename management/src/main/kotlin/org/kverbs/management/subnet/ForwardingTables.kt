package org.kverbs.management.subnet

import org.kverbs.structures.Guid
import org.kverbs.structures.Lid

private const val FIRST_MULTICAST = 0xc000
private const val NO_PORT = 255

/**
 * The forwarding tables of the switches of a [Subnet]: which port each LID leads to. They do not change.
 *
 * Threads: any.
 *
 * @property subnet the subnet of the switches
 * @property problems the switches and blocks that did not answer
 */
public class ForwardingTables internal constructor(
    public val subnet: Subnet,
    private val linear: Map<Int, ByteArray>,
    private val multicast: Map<Int, Array<ShortArray>>,
    public val problems: List<SubnetProblem>,
) {
    /** Returns the port by which a switch hands on what is for [lid]; null if it has no entry, or is no switch. */
    public fun port(
        switch: SubnetNode,
        lid: Lid,
    ): Int? {
        val table = linear[switch.indexIn(subnet)] ?: return null
        if (!lid.isUnicast || lid.value >= table.size) return null
        return (table[lid.value].toInt() and 0xff).takeIf { it != NO_PORT }
    }

    /** The ports of a switch by LIDs, or null if its table is not known. */
    internal fun table(node: Int): ByteArray? = linear[node]

    /** Returns the LIDs for which a switch has an entry, in order. */
    public fun lids(switch: SubnetNode): List<Lid> {
        val table = linear[switch.indexIn(subnet)] ?: return emptyList()
        return table.indices.filter { it in 1 until FIRST_MULTICAST && table[it] != NO_PORT.toByte() }.map(::Lid)
    }

    /** Returns the ports by which a switch hands on what is for the multicast group [lid], in order. */
    public fun ports(
        switch: SubnetNode,
        lid: Lid,
    ): List<Int> {
        val table = multicast[switch.indexIn(subnet)]
        if (table == null || !lid.isMulticast) return emptyList()
        val at = lid.value - FIRST_MULTICAST
        return table.flatMapIndexed { position, masks ->
            val mask = if (at < masks.size) masks[at].toInt() and 0xffff else 0
            (0 until Short.SIZE_BITS).filter { mask shr it and 1 != 0 }.map { position * Short.SIZE_BITS + it }
        }
    }

    /** Returns the multicast groups for which a switch has an entry, in order. */
    public fun multicastLids(switch: SubnetNode): List<Lid> {
        val table = multicast[switch.indexIn(subnet)] ?: return emptyList()
        val size = table.maxOfOrNull { it.size } ?: 0
        return (0 until size)
            .filter { at -> table.any { at < it.size && it[at] != 0.toShort() } }
            .map { Lid(FIRST_MULTICAST + it) }
    }

    /**
     * Returns the way by which the tables lead from a port to a LID. If they do not lead there, the route is not
     * complete, and its text says where it ends.
     */
    public fun route(
        from: SubnetPort,
        lid: Lid,
    ): SubnetRoute {
        from.node.indexIn(subnet)
        return Routes(subnet).byTables(from, lid, this)
    }

    /** Returns the GUIDs of the switches whose tables are known, and the number of LIDs in each. */
    override fun toString(): String =
        "tables of ${linear.size} switches: ${linear.keys.map { Guid(subnet.data.guids[it]) }}"
}

private fun SubnetNode.indexIn(subnet: Subnet): Int {
    require(this.subnet === subnet) { "$this is a node of another subnet: give one of the tables' subnet" }
    return index
}
