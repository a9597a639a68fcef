package org.kverbs.management.check

import org.kverbs.management.fabric.Fabric
import org.kverbs.management.structures.LinearForwardingTable
import org.kverbs.management.structures.MulticastForwardingTable
import org.kverbs.management.subnet.ForwardingTables
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.management.subnet.discover
import org.kverbs.management.subnet.forwardingTables
import org.kverbs.structures.Lid

private const val BLOCK = 64

/** The node with this name. */
internal fun Subnet.named(name: String): SubnetNode = nodes.single { it.name == name }

/** The first LID of the node with this name. */
internal fun Subnet.lidOf(name: String): Lid = named(name).ports.first { it.lid.isUnicast }.lid

/** Has a switch lead a LID to another port. */
internal suspend fun Fabric.lead(
    switch: SubnetNode,
    lid: Lid,
    port: Int,
) {
    val block = lid.value / BLOCK
    val table = get<LinearForwardingTable>(switch.path, block)
    table.portBlock[lid.value % BLOCK] = port
    set(switch.path, table, block)
}

/** Has a switch hand on the packets of the first multicast group to these ports, which are below 16. */
internal suspend fun Fabric.spread(
    switch: SubnetNode,
    vararg ports: Int,
) {
    val masks = MulticastForwardingTable { portMaskBlock[0] = ports.fold(0) { mask, port -> mask or (1 shl port) } }
    set(switch.path, masks)
}

internal suspend fun Fabric.tables(): ForwardingTables = forwardingTables(discover())
